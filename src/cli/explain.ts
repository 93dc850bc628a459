import { readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { stringify } from 'yaml';
import { z } from 'zod';
import { UnreadableFile } from '../config/read-files';
import { ConfigError, ifReadable, readApiKey, readableKeys } from '../config/service-config';
import { readSetting } from '../config/settings';
import { jsonIn } from '../contract/clean-text';
import { errorCode } from '../contract/error-code';
import { refusedSubject } from '../contract/failure-details';
import { TASK_ID_RULE } from '../contract/input-rules';
import { describeMoney } from '../contract/money';
import { NO_SECRETS, redact } from '../contract/redact';
import {
  type AnswerSample,
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
import { chooseService } from './read-input';
import { EXIT, type Terminal } from './terminal';

/** An answer that somebody saved or a worker recorded. */
interface SavedAnswer extends AnswerSample {
  name: string;
}

/** What a worker records; other fields of a recording are not needed. */
const recording = z.object({
  call: z.enum(['submit', 'poll', 'link', 'cancel']),
  status: z.number(),
  body: z.union([z.string(), z.unknown().transform((body) => JSON.stringify(body) ?? '')]),
});

/** The answers in a file, or in the files of a folder in the order of their names. */
function savedAnswers(path: string, status: number): SavedAnswer[] {
  try {
    if (!statSync(path).isDirectory()) return [savedIn(path, status)];
    const names = readdirSync(path).filter((name) => name.endsWith('.json'));
    return names.sort().map((name) => savedIn(join(path, name), status));
  } catch (error) {
    throw new ConfigError(
      `${path} cannot be read (${errorCode(error)}): give a file with an answer, or a folder of them.`,
    );
  }
}

/** A recorded answer. Any other text is the body of an answer. */
function savedIn(path: string, status: number): SavedAnswer {
  const stats = statSync(path);
  // Reading a device may never end. A pipe of the shell ends.
  if (stats.isCharacterDevice() || stats.isBlockDevice()) throw new UnreadableFile('not a regular file');
  const body = readFileSync(path, 'utf8');
  return { name: basename(path), status, body, ...recording.safeParse(jsonIn(body)).data };
}

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
  const keys = [...ifReadable(() => [readApiKey(env)()]), ...readableKeys(env)];
  const secrets = secretsOf('', keys, inUse);
  const saved = savedAnswers(file, Number(options.status));
  if (saved.length === 0) throw new ConfigError(`There are no answers in ${file}.`);
  const answers = saved.map((answer) => ({ ...answer, body: redactBody(answer.body, secrets) }));
  terminal.out(describeAnswers(answers, inUse).join('\n'));
  return EXIT.ok;
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
    unusableId === undefined ? 'nothing found' : `${shown(unusableId)} is not valid: it ${TASK_ID_RULE}`;
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
  const charge = charged === undefined ? '' : charged ? ', and charged for it' : ', and charged nothing';
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
