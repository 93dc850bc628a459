import { readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import { stringify } from 'yaml';
import { ConfigError, type Environment, readApiKey, readProfile } from '../config/service-config';
import { readableKeys } from '../config/services-config';
import { printableJson } from '../contract';
import { errorCode } from '../contract/error-code';
import { TASK_ID_RULE } from '../contract/input-rules';
import { describeMoney } from '../contract/money';
import { NO_SECRETS, redact } from '../contract/redact';
import { refusedSubject } from '../contract/refused-content';
import {
  type AnswerSample,
  mergeProfiles,
  type ProposedProfile,
  proposeProfile,
  type ReadingRules,
  readingRules,
  redactBody,
  type ServiceAnswer,
  type ServiceProfile,
  secretsOf,
  type TracedReading,
  traceAnswer,
} from '../service';
import { chooseService } from './choose-service';
import { EXIT, reportError } from './exit-codes';
import type { ExplainOptions } from './options';
import type { Terminal } from './terminal';

interface SavedAnswer extends AnswerSample {
  name: string;
}

const CALLS: readonly ServiceAnswer['call'][] = ['submit', 'poll', 'link', 'cancel'];

/** `videogen explain`: shows how saved answers of a service are read, and proposes a profile for the rest. */
export async function explain(
  file: string,
  options: ExplainOptions,
  terminal: Terminal,
  input?: NodeJS.ReadableStream,
): Promise<number> {
  try {
    const status = readStatus(options.status);
    const saved =
      // Reading process.stdin opens it, so only `-` does.
      file === '-'
        ? savedIn(await textOf(input ?? process.stdin), 'standard input', status)
        : savedAt(file, status);
    if (saved.length === 0) throw new ConfigError(`There are no answers in ${file}.`);
    const inUse = profileInUse(options, terminal.env) ?? {};
    // The output may be shared, and an answer that was saved by hand may contain the key.
    const secrets = secretsOf('', keysIn(terminal.env), inUse.headers);
    const answers = saved.map((answer) => ({ ...answer, body: redactBody(answer.body, secrets) }));
    const proposed = proposeProfile(answers, inUse);
    terminal.out(
      options.json
        ? printableJson(forPrograms(answers, proposed, inUse))
        : forPeople(answers, proposed, inUse).join('\n'),
    );
    return EXIT.ok;
  } catch (error) {
    return reportError(error, options, terminal);
  }
}

function profileInUse({ service }: ExplainOptions, env: Environment): ServiceProfile | undefined {
  return service === undefined ? readProfile(env) : chooseService(service, env).known?.profile;
}

/** The configured keys, if any. */
function keysIn(env: Environment): string[] {
  const read = (key: () => string) => {
    try {
      return [key()];
    } catch {
      return [];
    }
  };
  return [...read(() => readApiKey(env)()), ...readableKeys(env)];
}

function readStatus(given: string): number {
  if (/^[1-5]\d\d$/.test(given)) return Number(given);
  throw new ConfigError(
    `--status is ${JSON.stringify(given)}: give the HTTP status of the answer, such as 200.`,
  );
}

/** The answers in a file, or in the files of a folder in the order of their names. */
function savedAt(path: string, status: number): SavedAnswer[] {
  try {
    if (!statSync(path).isDirectory()) return savedIn(readFileSync(path, 'utf8'), basename(path), status);
    const names = readdirSync(path).filter((name) => /\.jsonl?$/.test(name));
    return names.sort().flatMap((name) => savedIn(readFileSync(join(path, name), 'utf8'), name, status));
  } catch (error) {
    throw new ConfigError(
      `${path} cannot be read (${errorCode(error)}): give a file with an answer, a folder of them, or - for standard input.`,
    );
  }
}

/** One recorded answer, or one per line. Any other text is the body of an answer. */
function savedIn(text: string, name: string, status: number): SavedAnswer[] {
  const one = recorded(text, name);
  if (one) return [one];
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  const each = lines.map((line, index) => recorded(line, `${name}:${index + 1}`));
  const all = each.filter((answer) => answer !== undefined);
  return all.length > 0 && all.length === lines.length ? all : [{ name, status, body: text }];
}

function recorded(text: string, name: string): SavedAnswer | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof value !== 'object' || value === null) return undefined;
  const { call, status, body }: { call?: unknown; status?: unknown; body?: unknown } = value;
  const knownCall = CALLS.find((candidate) => candidate === call);
  if (knownCall === undefined || typeof status !== 'number' || body === undefined) return undefined;
  return { name, call: knownCall, status, body: typeof body === 'string' ? body : JSON.stringify(body) };
}

function forPrograms(
  answers: readonly SavedAnswer[],
  { profile, notes }: ProposedProfile,
  inUse: ServiceProfile,
) {
  const rules = readingRules(inUse);
  return {
    answers: answers.map((answer) => {
      const reading = traceAnswer(answer, rules);
      const { json, taskId, task, serviceMessage, charged, found, doubts, refusedContent } = reading;
      const link = 'videoUrl' in task ? { videoUrl: shown(task.videoUrl) } : {};
      return {
        ...{ name: answer.name, call: answer.call, status: answer.status },
        ...{
          json,
          taskId,
          task: { ...task, ...link },
          serviceMessage,
          charged,
          found,
          doubts,
          refusedContent,
        },
        missing: missingIn(answer, reading),
      };
    }),
    profile: mergeProfiles(inUse, profile),
    notes,
  };
}

function forPeople(
  answers: readonly SavedAnswer[],
  proposed: ProposedProfile,
  inUse: ServiceProfile,
): string[] {
  const today = readingRules(inUse);
  const current = answers.flatMap((answer) => [title(answer), ...explained(answer, today)]);
  const { profile, notes } = proposed;
  if (Object.keys(profile).length === 0 && notes.length === 0)
    return [...current, '', verdict(answers, today)];
  if (Object.keys(profile).length === 0) return [...current, '', ...notes];
  const merged = mergeProfiles(inUse, profile);
  const rules = readingRules(merged);
  return [
    ...current,
    '',
    'Save this as profile.yaml and set VIDEOGEN_PROFILE=profile.yaml:',
    '',
    profileText(merged, notes),
    'With it:',
    '',
    ...answers.flatMap((answer) => [title(answer), ...explained(answer, rules)]),
  ];
}

function verdict(answers: readonly SavedAnswer[], rules: ReadingRules): string {
  const readings = answers.map((answer) => ({ answer, reading: traceAnswer(answer, rules) }));
  if (readings.some(({ answer, reading }) => missingIn(answer, reading).length > 0))
    return 'No profile can be guessed from this.';
  return readings.some(({ reading }) => reading.doubts.length > 0)
    ? 'Everything was found, with doubts.'
    : 'Everything is understood.';
}

function profileText(profile: ServiceProfile, notes: readonly string[]): string {
  return stringify(profile) + notes.map((note) => `# ${note}\n`).join('');
}

function title({ name, call, status }: SavedAnswer): string {
  return `${name}: ${call === undefined ? '' : `${call}, `}HTTP ${status}`;
}

/** A line for each value that was read from an answer. */
function explained(answer: SavedAnswer, rules: ReadingRules): string[] {
  const reading = traceAnswer(answer, rules);
  const { json, taskId, task, serviceMessage, found, doubts, charged, chargedAt } = reading;
  const line = (label: string, value: string | undefined, at: string | undefined) =>
    value === undefined || at === undefined ? [] : [`${label.padEnd(8)}  ${shown(value)}  at ${at}`];
  const lines = [
    ...(json ? [] : [bodyProblem(answer.body)]),
    ...line('task id', taskId, found.taskId),
    ...stateLines(answer, reading, rules),
    ...line('progress', 'percent' in task ? `${task.percent} %` : undefined, found.percent),
    ...line('video', 'videoUrl' in task ? task.videoUrl : undefined, found.videoUrl),
    ...line('code', serviceMessage.code, found.code),
    ...line('message', serviceMessage.message, found.message),
    ...refusedLine(reading),
    ...line('charged', charged && describeMoney(charged), chargedAt),
    ...missingIn(answer, reading).map((what) => `${what}: ${whyMissing(what, reading)}`),
    ...doubts.map((doubt) => `doubt: ${shown(doubt)}`),
  ];
  return lines.map((text) => `  ${text}`);
}

/** Such an answer ends a job as ContentRefused. */
function refusedLine({ refusedContent, task }: TracedReading): string[] {
  if (refusedContent === undefined || ('videoUrl' in task && task.videoUrl !== undefined)) return [];
  const { charged } = refusedContent;
  const subject = refusedSubject(refusedContent) ?? 'the content; it does not say which';
  const charge = charged === undefined ? '' : charged ? ', and charged it' : ', and charged nothing';
  return [`${'refused'.padEnd(8)}  ${shown(subject)}${charge}`];
}

function bodyProblem(body: string): string {
  if (body.trim() === '') return 'the body is empty';
  return /^\s*</.test(body)
    ? 'the body is a web page or XML and not JSON: check VIDEO_API_BASE_URL'
    : 'the body is not a JSON object or list';
}

function stateLines(
  { status }: SavedAnswer,
  { task, found }: TracedReading,
  { stateOf }: ReadingRules,
): string[] {
  if (status < 200 || status > 299) return [];
  const { state, word } = task;
  if (found.state !== undefined) {
    const isKnown = stateOf(word) !== undefined || word.startsWith('done: ');
    const meaning = state === 'succeeded' ? ': read as succeeded, because there is a video' : '';
    const why = status === 202 && state === 'running' ? ': read as running, because of HTTP 202' : meaning;
    return isKnown
      ? [`${'state'.padEnd(8)}  ${state}, in its words ${JSON.stringify(shown(word))}  at ${found.state}`]
      : [`state ${JSON.stringify(shown(word))} at ${found.state} is an unknown word${why}`];
  }
  const reasons = { succeeded: 'there is a video', failed: 'there is an error', running: 'of HTTP 202' };
  const reason = Object.entries(reasons).find(([name]) => name === state)?.[1];
  return reason === undefined ? [] : [`${'state'.padEnd(8)}  ${state}, because ${reason}`];
}

function whyMissing(what: string, { unusableId }: TracedReading): string {
  if (what !== 'task id' || unusableId === undefined) return 'nothing found';
  return `${shown(unusableId)} is not a task id: it ${TASK_ID_RULE}`;
}

/** The values that an answer to this call should have, but does not. */
function missingIn({ call, status }: SavedAnswer, { task, found, taskId, refusal }: TracedReading): string[] {
  if (call === 'cancel' || call === 'link') return [];
  if (status < 200 || status > 299) return found.code || found.message ? [] : ['error'];
  if (call === 'submit' && refusal) return found.code || found.message ? [] : ['error'];
  const noId = taskId === undefined && call !== 'poll';
  const noState = found.state === undefined && task.state === 'unknown' && call !== 'submit';
  const noVideo = found.videoUrl === undefined && (task.state === 'succeeded' || noState);
  return [...(noId ? ['task id'] : []), ...(noState ? ['state'] : []), ...(noVideo ? ['video'] : [])];
}

/** The key is not known here, and a recording has lost it already. Links lose their signatures. */
function shown(text: string): string;
function shown(text: string | undefined): string | undefined;
function shown(text: string | undefined): string | undefined {
  return text === undefined ? undefined : redact(text, NO_SECRETS);
}
