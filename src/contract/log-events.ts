export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** Every line that our own code writes to the log, by the `event` in it. docs/observability.md says when. */
export const LOG_EVENTS = {
  submitted: { level: 'info', message: 'submitted' },
  onRecord: { level: 'info', message: 'the task is on record' },
  adopted: { level: 'info', message: 'adopted a task' },
  held: { level: 'warn', message: 'the submit is lost, waiting for a decision' },
  nextService: { level: 'warn', message: 'trying the next service' },
  decided: { level: 'info', message: 'decided' },
  polled: { level: 'debug', message: 'polled' },
  pollsFailing: { level: 'warn', message: 'polls are failing, still polling' },
  ready: { level: 'info', message: 'ready' },
  downloading: { level: 'info', message: 'downloading' },
  resuming: { level: 'info', message: 'resuming the download' },
  downloadStopped: { level: 'info', message: 'download stopped' },
  stored: { level: 'info', message: 'stored' },
  failed: { level: 'warn', message: 'failed' },
  cancelled: { level: 'info', message: 'cancelled' },
  cancelAsked: { level: 'info', message: 'asked the service to cancel the task' },
  ledgerNotWritten: { level: 'warn', message: 'could not write to the ledger of caps' },
  continuedAsNew: { level: 'info', message: 'continued as new' },
  batchEnded: { level: 'info', message: 'ended the batch' },
  webhookDelivered: { level: 'info', message: 'delivered the webhook' },
  webhookNotStarted: { level: 'warn', message: 'could not start the webhook' },
  ambiguousAnswer: { level: 'warn', message: 'the answer is ambiguous' },
  unknownState: { level: 'warn', message: 'unknown state, still polling' },
  recordNotRead: { level: 'warn', message: 'could not read the job record' },
  recordNotWritten: { level: 'warn', message: 'could not write the job record' },
  taskOfAnotherJob: { level: 'warn', message: 'the service returned the task of another job' },
  submitNotInspected: { level: 'warn', message: 'could not read whether the submit is lost' },
  storedVideoGone: { level: 'warn', message: 'the video on record is no longer in the storage' },
  leftoversRemoved: { level: 'info', message: 'removed leftovers of unfinished downloads' },
  leftoversNotRemoved: { level: 'warn', message: 'could not remove leftovers of unfinished downloads' },
  request: { level: 'info', message: 'answered' },
  requestFailed: { level: 'error', message: 'the request failed' },
  codecUsed: { level: 'info', message: 'decoded or encoded payloads' },
  keysNotRead: { level: 'warn', message: 'could not read the keys of the gateway' },
} as const satisfies Record<string, { level: LogLevel; message: string }>;

/** The `event` of a line of our log. */
export type LogEvent = keyof typeof LOG_EVENTS;
