import { stringify } from 'yaml';
import { ConfigError, type Environment, readApiKey, readableKeys } from '../config/service-config';
import { readSetting } from '../config/settings';
import { refusedSubject } from '../contract/failure-details';
import { TASK_ID_RULE } from '../contract/input-rules';
import { describeMoney } from '../contract/money';
import { NO_SECRETS, redact } from '../contract/redact';
import {
  missingIn,
  proposeProfile,
  type ReadingRules,
  readingRules,
  redactBody,
  type ServiceProfile,
  secretsOf,
  type TracedReading,
  traceAnswer,
} from '../service';
import { chooseService } from './choose-service';
import { EXIT } from './exit-codes';
import { type SavedAnswer, savedAnswers } from './saved-answers';
import type { Terminal } from './terminal';

interface ExplainOptions {
  status: string;
  service?: string;
}

/** `videogen explain`: shows how saved answers of a service are read, and proposes a profile for the rest. */
export async function explain(file: string, options: ExplainOptions, terminal: Terminal): Promise<number> {
  if (!/^[1-5]\d\d$/.test(options.status))
    throw new ConfigError(
      `--status is ${JSON.stringify(options.status)}: give the HTTP status of the answer, such as 200.`,
    );
  const { service } = options;
  const { env } = terminal;
  const inUse =
    (service === undefined
      ? readSetting('VIDEOGEN_PROFILE', env)
      : chooseService(service, env).known?.profile) ?? {};
  // The output may be shared, and what was saved by hand may contain the key.
  const secrets = secretsOf('', keysIn(env), inUse);
  const saved = savedAnswers(file, Number(options.status));
  const answers = saved.map((answer) => ({ ...answer, body: redactBody(answer.body, secrets) }));
  terminal.out(describeAnswers(answers, inUse).join('\n'));
  return EXIT.ok;
}

/** The configured keys, if any. */
function keysIn(env: Environment): string[] {
  try {
    return [readApiKey(env)(), ...readableKeys(env)];
  } catch {
    return readableKeys(env);
  }
}

function describeAnswers(answers: readonly SavedAnswer[], inUse: ServiceProfile): string[] {
  const { profile, notes } = proposeProfile(answers, inUse);
  const rules = readingRules(inUse);
  const today = explained(answers, rules);
  const questions = notes.map((note) => `# ${note}`);
  if (profile === undefined) {
    const isMissing = answers.some((answer) => missingIn(answer, traceAnswer(answer, rules)).length > 0);
    const verdict = isMissing ? 'No profile can be guessed from this.' : 'Everything was understood.';
    return [...today, '', ...(notes.length > 0 ? questions : [verdict])];
  }
  return [
    ...[...today, '', 'Save this as profile.yaml and set VIDEOGEN_PROFILE=profile.yaml:', ''],
    ...[stringify(profile).trimEnd(), ...questions, '', 'With it:', ''],
    ...explained(answers, readingRules(profile)),
  ];
}

/** For each answer, a line for each value that was read from it. */
function explained(answers: readonly SavedAnswer[], rules: ReadingRules): string[] {
  return answers.flatMap((answer) => {
    const { name, call, status } = answer;
    const lines = readingLines(answer, traceAnswer(answer, rules));
    return [
      `${name}: ${call === undefined ? '' : `${call}, `}HTTP ${status}`,
      ...lines.map((line) => `  ${line}`),
    ];
  });
}

function readingLines(answer: SavedAnswer, reading: TracedReading): string[] {
  const { json, taskId, task, serviceMessage, found, doubts, charged, unusableId } = reading;
  const line = (label: string, value: string | undefined, at: string | undefined) =>
    value === undefined || at === undefined ? [] : [`${label.padEnd(8)}  ${shown(value)}  at ${at}`];
  const isId =
    unusableId === undefined ? 'nothing found' : `${shown(unusableId)} is not one: it ${TASK_ID_RULE}`;
  return [
    ...(json ? [] : ['the body is not a JSON object or list: if it is a web page, check VIDEO_API_BASE_URL']),
    ...line('task id', taskId, found.taskId),
    ...stateLine(answer, reading),
    ...line('progress', 'percent' in task ? `${task.percent} %` : undefined, found.progress),
    ...line('video', 'videoUrl' in task ? task.videoUrl : undefined, found.video),
    ...line('code', serviceMessage.code, found.code),
    ...line('message', serviceMessage.message, found.message),
    ...refusedLine(reading),
    ...line('charged', charged && describeMoney(charged), found.charged),
    ...missingIn(answer, reading).map((what) =>
      what === 'taskId' ? `task id: ${isId}` : `${what}: nothing found`,
    ),
    ...doubts.map((doubt) => `doubt: ${shown(doubt)}`),
  ];
}

/** Such an answer ends a job as ContentRefused. */
function refusedLine({ refusedContent, task }: TracedReading): string[] {
  if (refusedContent === undefined || ('videoUrl' in task && task.videoUrl !== undefined)) return [];
  const { charged } = refusedContent;
  const subject = refusedSubject(refusedContent) ?? 'the content; it does not say which';
  const charge = charged === undefined ? '' : charged ? ', and charged it' : ', and charged nothing';
  return [`refused   ${shown(subject)}${charge}`];
}

function stateLine({ status }: SavedAnswer, { task: { state, word }, found }: TracedReading): string[] {
  if (status < 200 || status > 299) return [];
  if (found.state !== undefined)
    return [`state     ${state}, in its words ${JSON.stringify(shown(word))}  at ${found.state}`];
  return state === 'unknown' ? [] : [`state     ${state}, without a word for it`];
}

/** The key is not known here, and a recording has lost it already. Links lose their signatures. */
const shown = (text: string) => redact(text, NO_SECRETS);
