import { stringify } from 'yaml';
import { ConfigError, type Environment, readApiKey, readProfile } from '../config/service-config';
import { readableKeys } from '../config/services-config';
import { printableJson } from '../contract/clean-text';
import { refusedSubject } from '../contract/failure-details';
import { TASK_ID_RULE } from '../contract/input-rules';
import { describeMoney } from '../contract/money';
import { NO_SECRETS, redact } from '../contract/redact';
import {
  type Candidate,
  findCandidates,
  mergeProfiles,
  type ProposedProfile,
  parseJson,
  proposeProfile,
  proposeRequest,
  type ReadingRules,
  readingRules,
  redactBody,
  type ServiceProfile,
  secretsOf,
  type TracedReading,
  traceAnswer,
} from '../service';
import { chooseService } from './choose-service';
import { EXIT, reportError } from './exit-codes';
import {
  type ExplainedRequest,
  explainRequest,
  mappedLines,
  placesIn,
  requestLines,
} from './explain-request';
import { readSavedStatus, type SavedAnswer, savedAnswers, savedRequest } from './saved-answers';
import type { Terminal } from './terminal';

interface ExplainOptions {
  status: string;
  /** A file with the body of a request. */
  request?: string;
  service?: string;
  json?: boolean;
}

/** What is shown: how the answers are read today, and what the profile could say. */
interface Explanation {
  answers: readonly SavedAnswer[];
  request?: ExplainedRequest | undefined;
  inUse: ServiceProfile;
  proposed: ProposedProfile;
  candidates: readonly Candidate[];
}

/** `videogen explain`: shows how saved answers of a service are read, and proposes a profile for the rest. */
export async function explain(
  file: string | undefined,
  options: ExplainOptions,
  terminal: Terminal,
  input?: NodeJS.ReadableStream,
): Promise<number> {
  try {
    const status = readSavedStatus(options.status);
    if (file === undefined && options.request === undefined) {
      throw new ConfigError(
        'There is nothing to explain: give a file with an answer, or --request and a file.',
      );
    }
    const inUse = profileInUse(options, terminal.env) ?? {};
    // The output may be shared, and what was saved by hand may contain the key.
    const secrets = secretsOf('', keysIn(terminal.env), inUse);
    const saved = await savedAnswers(file, status, input);
    const answers = saved.map((answer) => ({ ...answer, body: redactBody(answer.body, secrets) }));
    const request =
      options.request === undefined ? undefined : explainRequest(savedRequest(options.request, secrets));
    const explanation = explanationOf(answers, request, inUse);
    terminal.out(options.json ? printableJson(forPrograms(explanation)) : forPeople(explanation).join('\n'));
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

function explanationOf(
  answers: readonly SavedAnswer[],
  request: ExplainedRequest | undefined,
  inUse: ServiceProfile,
): Explanation {
  const ofAnswers = proposeProfile(answers, inUse);
  const candidates = findCandidates(answers, mergeProfiles(inUse, ofAnswers.profile), (answer, reading) =>
    missingIn(answer, reading).flatMap((what) => FIELD_OF[what] ?? []),
  );
  const profile = { ...ofAnswers.profile, ...request?.proposed.profile };
  const notes = [
    ...answers
      .filter(looksLikeRequest)
      .map(({ name }) => `${name} looks like a request: videogen explain --request`),
    ...ofAnswers.notes,
    ...(request?.proposed.notes ?? []),
  ];
  return { answers, request, inUse, proposed: { profile, notes }, candidates };
}

/** Nothing in it is of an answer, and there is a prompt. */
function looksLikeRequest({ call, status, body }: SavedAnswer): boolean {
  const { found, task } = traceAnswer({ status, body });
  const isAnswer = call !== undefined || Object.keys(found).length > 0 || task.state !== 'unknown';
  return !isAnswer && proposeRequest(parseJson(body)).request !== undefined;
}

/** The names of what can be missing, in a profile. */
const FIELD_OF: Partial<Record<string, Candidate['field']>> = {
  'task id': 'taskId',
  state: 'state',
  video: 'video',
};

function forPrograms({ answers, request, inUse, proposed: { profile, notes }, candidates }: Explanation) {
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
    ...(request && { request: { request: request.proposed.request, sent: request.proposed.sent } }),
    profile: mergeProfiles(inUse, profile),
    candidates: candidates.map((candidate) => ({ ...candidate, value: shown(candidate.value) })),
    notes,
  };
}

function forPeople({
  answers,
  request,
  inUse,
  proposed: { profile, notes },
  candidates,
}: Explanation): string[] {
  const today = readingRules(inUse);
  const current = [
    ...answers.flatMap((answer) => [title(answer), ...sentLine(answer), ...explained(answer, today)]),
    ...(request ? requestLines(request) : []),
  ];
  const choices = candidateLines(candidates);
  if (Object.keys(profile).length === 0) {
    const end = notes.length > 0 ? [] : [verdict(answers, today)];
    return [...current, '', ...end, ...notes, ...choices.map((line) => `# ${line}`)];
  }
  const merged = mergeProfiles(inUse, profile);
  const rules = readingRules(merged);
  return [
    ...current,
    '',
    'Save this as profile.yaml and set VIDEOGEN_PROFILE=profile.yaml:',
    '',
    profileText(merged, [...choices, ...notes]),
    'With it:',
    '',
    ...answers.flatMap((answer) => [title(answer), ...explained(answer, rules)]),
    ...(request ? mappedLines(request) : []),
  ];
}

/** Lines for the profile, to choose from: each is a comment until somebody takes its # away. */
function candidateLines(candidates: readonly Candidate[]): string[] {
  if (candidates.length === 0) return [];
  const fields = candidates.map(
    ({ field, path, value }) => `  ${field}: ${stringify(path).trim()}  # ${JSON.stringify(shown(value))}`,
  );
  return [
    'Nothing certain was found for these. Keep the lines that are right, if any is:',
    'read:',
    ...fields,
  ];
}

/** What a recorded answer answers: the places that were filled, not what was in them. */
function sentLine({ sent }: SavedAnswer): string[] {
  if (sent === undefined) return [];
  return [
    `  ${'sent'.padEnd(8)}  ${shown(`${sent.method} ${sent.path}`)}${sent.body ? ` with ${placesIn(sent.body)}` : ''}`,
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
  const reasons = { succeeded: 'there is a video', failed: 'content was refused', running: 'of HTTP 202' };
  const reason = Object.entries(reasons).find(([name]) => name === state)?.[1];
  return reason === undefined ? [] : [`${'state'.padEnd(8)}  ${state}, because ${reason}`];
}

function whyMissing(what: string, { unusableId }: TracedReading): string {
  if (what !== 'task id' || unusableId === undefined) return 'nothing found';
  return `${shown(unusableId)} is not a task id: it ${TASK_ID_RULE}`;
}

/** The values that an answer to this call should have, but does not. */
function missingIn(
  { call, status }: Pick<SavedAnswer, 'call' | 'status'>,
  { task, found, taskId, refusal }: TracedReading,
): string[] {
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
