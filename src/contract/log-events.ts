export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

interface LogEventRow {
  level: LogLevel;
  /** The `message` of the line. */
  message: string;
  /** When it is written. */
  meaning: string;
}

/**
 * Every line that our own code writes to the log, by the `event` in it. Workflows, activities, worker and gateway name a row;
 * docs/observability.md lists them.
 */
export const LOG_EVENTS = {
  submitted: row('info', 'submitted', 'The service has accepted the request and named a task.'),
  onRecord: row(
    'info',
    'the task is on record',
    'An earlier job of this name and request has submitted; nothing is sent.',
  ),
  adopted: row(
    'info',
    'adopted a task',
    'The job takes a task that it did not submit, from its input or by a decision.',
  ),
  held: row(
    'warn',
    'the submit is lost, waiting for a decision',
    'A submit is lost, and the job waits for a decision until `heldUntil`.',
  ),
  nextService: row(
    'warn',
    'trying the next service',
    'One of the `services` of a job has certainly made no task: `failureType` and `reason` say why.',
  ),
  decided: row('info', 'a decision was taken', 'Somebody has decided about a lost submit.'),
  polled: row('debug', 'polled', 'One poll of one task, with its `state`.'),
  pollsFailing: row(
    'warn',
    'polls are failing, polling on',
    'A poll failed after one that did not, or failed otherwise.',
  ),
  ready: row('info', 'ready', 'The service has finished the video.'),
  downloading: row('info', 'downloading', 'An attempt of the download begins, at `bytes` if it resumes one.'),
  resuming: row('info', 'resuming the download', 'A connection broke; the same attempt goes on at `bytes`.'),
  downloadStopped: row(
    'info',
    'download stopped',
    'A download was cancelled, or handed over by a worker that drains.',
  ),
  stored: row('info', 'stored', 'The video is in the storage, complete and inspected.'),
  failed: row('warn', 'failed', 'The job has failed: `failureType`, `reason` and `advice` say why.'),
  cancelled: row('info', 'cancelled', 'The job was cancelled; `atService` says what became of the task.'),
  cancelAsked: row(
    'info',
    'asked the service to cancel the task',
    'The service has a call to cancel tasks, and was called.',
  ),
  ledgerNotWritten: row(
    'warn',
    'the ledger of the caps was not written',
    'A submit could not be released or settled in the ledger; it stays counted.',
  ),
  continuedAsNew: row('info', 'continued as new', 'The history was long; the next run goes on.'),
  batchEnded: row('info', 'ended the batch', 'All items of a batch have ended.'),
  webhookDelivered: row('info', 'delivered the webhook', 'The receiver has taken a webhook.'),
  webhookNotStarted: row(
    'warn',
    'the webhook could not be started',
    'The workflow of a webhook could not be started; the job goes on.',
  ),
  ambiguousAnswer: row(
    'warn',
    'the answer is ambiguous',
    'An answer of the service could be read otherwise: see `doubt`, once for each task.',
  ),
  unknownState: row(
    'warn',
    'unknown state, polling on',
    'The service names a state that nobody has mapped, once for each word.',
  ),
  recordNotRead: row(
    'warn',
    'could not use the job record',
    'The storage failed; the job goes on without its record.',
  ),
  recordNotWritten: row(
    'warn',
    'the record of the job could not be written',
    'The storage failed; a later job of this name may not find the task.',
  ),
  taskOfAnotherJob: row(
    'warn',
    'the service gave the task of another job',
    'Two jobs have the same task: check the profile of the service, and its idempotency keys.',
  ),
  submitNotInspected: row(
    'warn',
    'could not read whether the submit is lost',
    'A cancelled job takes its submit for a lost one.',
  ),
  storedVideoGone: row(
    'warn',
    'the video on record is no longer in the storage',
    'Somebody deleted it; the job downloads it again.',
  ),
  timesNotLearned: row(
    'warn',
    'could not use the learned times',
    'The storage failed; polls are planned without them.',
  ),
  progressNotReported: row(
    'debug',
    'could not report the progress',
    'A download could not tell its job how far it is.',
  ),
  notMeasured: row('debug', 'could not measure', 'A metric has missed a value; the job goes on.'),
  leftoversRemoved: row(
    'info',
    'removed leftovers of unfinished downloads',
    'Partial downloads of killed workers were removed, after a day.',
  ),
  leftoversNotRemoved: row(
    'warn',
    'could not remove leftovers of unfinished downloads',
    'The worker tries again in an hour.',
  ),
  request: row('info', 'answered', 'The gateway has answered a request; at `error` from status 500 on.'),
  requestFailed: row(
    'error',
    'the request failed',
    'What was wrong inside the gateway; its caller got `requestId`.',
  ),
  codecUsed: row(
    'info',
    'decoded or encoded payloads',
    'The gateway has decrypted or encrypted `count` payloads for `key`; what is in them is not logged.',
  ),
  keysNotRead: row(
    'warn',
    'could not read the keys of the gateway',
    'The gateway goes on with the keys that it has.',
  ),
} as const satisfies Record<string, LogEventRow>;

/** The `event` of a line of our log. */
export type LogEvent = keyof typeof LOG_EVENTS;

function row(level: LogLevel, message: string, meaning: string): LogEventRow {
  return { level, message, meaning };
}
