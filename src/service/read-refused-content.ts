import {
  type ContentStage,
  fieldOfStage,
  isContentStage,
  type RefusedContent,
} from '../contract/failure-details';
import { unescaped } from '../contract/redact';
import { type Found, valuesIn } from './answer-paths';
import {
  chargeInWords,
  FIELD_PATHS,
  FLAGS,
  meansRefusedContent,
  SIGN_PATHS,
  STAGE_PATHS,
  signOfCode,
  signOfState,
  stageInWords,
} from './content-signs';
import { first, MAX_LENGTH, nameFrom, textFrom } from './read-values';
import { type AnswerPath, type ContentRule, normalizeWord, type ReadingRules } from './reading-rules';

/** A refusal for content in an answer, with the service's own code and message where they are in unusual places. */
export interface ReadRefusal extends RefusedContent {
  code?: string;
  message?: string;
  /** Whether a code, a state, a flag or the profile says so, and not only the words of a message. */
  isCertain: boolean;
}

/** What an answer says, as far as it was read already. */
export interface AnswerWords {
  /** The service's word for the state of the task. */
  word: string;
  code?: string | undefined;
  message?: string | undefined;
  /** What was sent, in the answer to a submit. Services quote it in their messages. */
  request?: { prompt?: string; image_url?: string } | undefined;
}

/** What an answer says about refused content; undefined when nothing in it clearly does. */
export function findRefusedContent(
  bodies: readonly Found[],
  { word, code, message, request }: AnswerWords,
  { content }: Pick<ReadingRules, 'content'>,
): ReadRefusal | undefined {
  const words = withoutQuotes(message ?? '', quotedTexts(bodies, request));
  const codes = [...(code === undefined ? [] : [code]), ...codesIn(bodies)];
  const flag = FLAGS.find(({ path, means }) =>
    first(valuesIn(bodies, [path]), (value) => means(value) || undefined),
  );
  const telling = codes.find((candidate) => signOfCode(candidate));
  const rule = content.find((candidate) => matches(candidate, { word, codes, words }));
  const sign = (telling === undefined ? undefined : signOfCode(telling)) ?? signOfState(word);
  const isCertain = rule !== undefined || sign !== undefined || flag !== undefined;
  const named = namedField(bodies);
  // A message about another field, such as the duration, may mention the content policy for any reason.
  const isAboutOther = named !== undefined && stageOfField(named) === undefined;
  if (!isCertain && (isAboutOther || !meansRefusedContent(words))) return undefined;
  const stage = onlyPossible(
    rule?.refused.stage ??
      saidStage(bodies) ??
      sign?.stage ??
      stageOfField(named) ??
      stageInWords(words) ??
      (flag && 'output'),
    request,
  );
  const field = rule?.refused.field ?? fieldFor(stage, named);
  const reason = flag && first(valuesIn(bodies, [flag.path]), textFrom)?.value.slice(0, MAX_LENGTH.message);
  const charged = rule?.refused.charged ?? chargeInWords(words) ?? chargeInWords(plain(reason ?? ''));
  return {
    isCertain,
    ...(stage !== undefined && { stage }),
    ...(field !== undefined && { field }),
    ...(charged !== undefined && { charged }),
    ...(telling !== undefined && { code: telling }),
    ...(message === undefined && reason !== undefined && { message: reason }),
  };
}

/** More than any answer has; a list may have many. */
const MOST_CODES = 30;

function codesIn(bodies: readonly Found[]): string[] {
  const codes: string[] = [];
  for (const { value } of valuesIn(bodies, SIGN_PATHS)) {
    const code = nameFrom(value)?.slice(0, MAX_LENGTH.code);
    if (code !== undefined) codes.push(code);
    if (codes.length === MOST_CODES) break;
  }
  return codes;
}

function matches(
  { codes, states, says }: ContentRule,
  found: { word: string; codes: readonly string[]; words: string },
): boolean {
  if (codes && !codes.some((code) => found.codes.some((candidate) => isCode(candidate, code)))) return false;
  if (states && !states.includes(normalizeWord(found.word))) return false;
  return says === undefined || found.words.includes(says);
}

function isCode(candidate: string, code: string): boolean {
  return code.endsWith('*') ? candidate.startsWith(code.slice(0, -1)) : candidate === code;
}

/** So much of the beginning of a text is recognized even if the service has cut the rest off. */
const RECOGNIZED_CHARS = 12;
/** So much of the middle of a text is recognized. Less may be the service's own words. */
const RECOGNIZED_INSIDE_CHARS = 24;
const SHORTEST_QUOTED_CHARS = 3;
/** Longer than any prompt; images are longer. */
const LONGEST_QUOTED_CHARS = 20_000;
const MOST_QUOTED = 20;

/** Where services repeat the prompt in what they say about a task. */
const PROMPT_PATHS: readonly AnswerPath[] = [
  ...['prompt', 'input.prompt', 'request.prompt', 'params.prompt', 'parameters.prompt', 'metadata.prompt'],
  ...['negative_prompt', 'input.negative_prompt', 'request.negative_prompt'],
];

/** What a message may quote: all texts of the request, and the prompt that the answer repeats. */
function quotedTexts(bodies: readonly Found[], request: AnswerWords['request']): string[] {
  const repeated = [...valuesIn(bodies, PROMPT_PATHS)].map(({ value }) => value);
  return [...Object.values(request ?? {}), ...repeated]
    .filter((value) => typeof value === 'string')
    .slice(0, MOST_QUOTED);
}

/** A message without links and what it quotes: both may have the very words that a refusal has. */
function withoutQuotes(message: string, texts: readonly string[]): string {
  return texts.reduce(
    (words, text) => cutOut(words, plain(text.slice(0, LONGEST_QUOTED_CHARS))),
    plain(message).replace(/\bhttps?:\/\/[^\s"'<>]+/g, ' '),
  );
}

/** In small letters, and without what JSON, HTML and URLs add to a quoted text. */
function plain(text: string): string {
  return (unescaped(text).at(-1) ?? text).toLowerCase().replace(/\s+/g, ' ').trim();
}

function cutOut(message: string, text: string): string {
  if (text.length < SHORTEST_QUOTED_CHARS) return message;
  const start = text.slice(0, RECOGNIZED_CHARS);
  let kept = '';
  for (let at = 0; at < message.length; ) {
    const from = message.startsWith(start, at) ? 0 : findInside(text, message, at);
    if (from === -1) {
      kept += message[at++];
      continue;
    }
    let length = 0;
    while (at + length < message.length && message[at + length] === text[from + length]) length++;
    kept += ' ';
    at += length;
  }
  return kept;
}

function findInside(text: string, message: string, at: number): number {
  const part = message.slice(at, at + RECOGNIZED_INSIDE_CHARS);
  return part.length < RECOGNIZED_INSIDE_CHARS ? -1 : text.indexOf(part);
}

/** `input` may be the prompt or the image. */
function saidStage(bodies: readonly Found[]): ContentStage | undefined {
  return first(valuesIn(bodies, STAGE_PATHS), (value) => (isContentStage(value) ? value : undefined))?.value;
}

/** A request without an image has only its prompt to refuse. */
function onlyPossible(
  stage: ContentStage | undefined,
  request: AnswerWords['request'],
): ContentStage | undefined {
  const hasPromptAlone = request !== undefined && request.image_url === undefined;
  return hasPromptAlone && stage !== 'output' ? 'prompt' : stage;
}

const FIELD_NAME = /^[a-z][a-z0-9_]{0,59}$/i;

/** The last name of a path such as `["body", "image_url"]`, or a name by itself. */
function namedField(bodies: readonly Found[]): string | undefined {
  return first(valuesIn(bodies, FIELD_PATHS), (value) => {
    const names: unknown[] = Array.isArray(value) ? value.slice(0, 10) : [value];
    const name = names.findLast((one) => typeof one === 'string' && FIELD_NAME.test(one));
    return name === 'body' || typeof name !== 'string' ? undefined : name;
  })?.value;
}

function stageOfField(field: string | undefined): ContentStage | undefined {
  if (field === undefined) return undefined;
  if (/image|frame|photo|picture/i.test(field)) return 'image';
  return /prompt|text/i.test(field) ? 'prompt' : undefined;
}

/** The finished video is in no field of the request. */
function fieldFor(stage: ContentStage | undefined, named: string | undefined): string | undefined {
  if (stage === 'output') return undefined;
  return named !== undefined && (stage === undefined || stageOfField(named) === stage)
    ? named
    : fieldOfStage(stage);
}
