import {
  type ContentStage,
  fieldOfStage,
  isContentStage,
  type RefusedContent,
} from '../contract/failure-details';
import { unescaped } from '../contract/redact';
import { type FoundValue, valuesIn } from './answer-paths';
import { first, MAX_LENGTH, nameFrom, textFrom } from './read-values';
import { type AnswerPath, normalizeWord, type ReadingRules } from './reading-rules';

/**
 * How services say that their content policy refused something: by a code, a state, a mark on a withheld video, or words.
 * docs/refused-content.md says which service says what. A refusal that may mean something else stays what it is.
 */

/** A refusal for content in an answer, with the service's own code and message where they are in unusual places. */
export interface ReadRefusal extends RefusedContent {
  code?: string;
  message?: string;
  /** Whether a code, a state, a mark or the profile says so, and not only the words of a message. */
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

/** Where error codes may be, besides those that are read anyway: the more telling ones first. */
const CODE_PATHS: readonly AnswerPath[] = [
  ...['error.code', 'error.innererror.code', 'error.details[].reason', 'error.type', 'code', 'err_code'],
  ...['errCode', 'ErrCode', 'ErrCodeExt', 'failureCode', 'failCode', 'failure_code', 'detail[].type'],
  ...['reason', 'type', 'title'],
];
/** Where OpenAI's services say whether the input or the output was refused. */
const STAGE_PATHS = ['error.moderation_details.moderation_stage', 'moderation_details.moderation_stage'];
/** Where services name the field that they refused. */
const FIELD_PATHS = ['error.param', 'param', 'error.field', 'field', 'detail[].loc'];
/** Where services repeat the prompt in what they say about a task. */
const PROMPT_PATHS: readonly AnswerPath[] = [
  ...['prompt', 'input.prompt', 'request.prompt', 'params.prompt', 'parameters.prompt', 'metadata.prompt'],
  ...['negative_prompt', 'input.negative_prompt', 'request.negative_prompt'],
];
/** Marks of a finished video that is withheld. */
const MARKS: readonly [paths: readonly AnswerPath[], means: (value: unknown) => boolean][] = [
  [inResponse('raiMediaFilteredReasons[]'), (value) => textFrom(value) !== undefined],
  [inResponse('raiMediaFilteredCount'), (value) => typeof value === 'number' && value > 0],
  [
    ['has_nsfw_contents[]', 'has_nsfw_concepts[]', 'has_nsfw_content[]', 'nsfw_content_detected[]'],
    (value) => value === true,
  ],
  [['respect_moderation', 'video.respect_moderation'], (value) => value === false],
];

function inResponse(name: string): AnswerPath[] {
  return [name, `response.${name}`, `response.generateVideoResponse.${name}`];
}

/** Codes in small letters, without the signs between their words. */
const CODES = [
  /^safety(input|output|violation|block|$)/,
  /^(input|output)(text|image|video|audio)(sensitivecontentdetected|riskdetection)/,
  /datainspectionfailed$|^(ipinfringementsuspect|auditsubmitillegal|prohibitedcontent|rai(blocked|filtered))$/,
  /^(content|usage|taskprompt|creation|responsibleai)?policyviolation$|^contentpolicy$/,
  /^content(filter(ed)?|violation|moderat(ion|ed)|blocked|rejected|refused)$/,
  /^(\w*prompt|image|output)(blocked|unsafe|moderat(ion|ed))$|^unsafe(prompt|image|content|request)$/,
  /^(input|request)?moderat(ion|ed)(blocked|rejected)?$/,
  /^nsfw(content)?(detected)?$|^sensitive(content|input|words)?(detected)?$/,
];

const STATES = ['nsfw', 'moderated', 'requestmoderated', 'contentmoderated'];

// A message is at most 1,000 characters long, and no pattern has a repetition inside a repetition. Words of a subject are
// separated by spaces: with underscores they name a parameter.
const SUBJECT =
  /\b(content|usage|safety|community|acceptable use|prohibited use|moderation|responsible ai)[ -](polic(y|ies)|guidelines?|standards?|rules|filters?|systems?|checkers?|checks?|security policy)\b|\bmoderation\b|\b(nsfw|not safe for work)\b|\b(inappropriate|unsafe|sensitive|harmful|prohibited|disallowed|sexual|adult) (contents?|material|information|imagery|images?|prompts?|text|words?|input|output)\b(?! (urls?|links?|fields?|parameters?))|\b(explicit|illegal) (contents?|material|information|imagery|images)\b|\b(real (person|people)|likeness(es)?|copyrighted|copyright (infringements?|violations?|protected|materials?|contents?)|celebrit(y|ies)|public figures?)\b/;
const VERB =
  /\b(violat(es?|ed|ing|ions?)|block(s|ed)?|flag(s|ged)|reject(s|ed)?|refus(es?|ed)|filtered|prohibit(s|ed)?|disallow(s|ed)?|declined|withheld|triggered|not (allowed|permitted|comply)|(did|does) not (pass|meet|comply)|fail(s|ed|ure)? to (pass|comply)|contain(s|ed|ing)?|includ(es?|ed|ing)|detect(s|ed)|involv(es?|ed|ing)|depict(s|ed|ing)?|related to)\b/;
const CLEAR =
  /\badvanced moderation failed\b|\b(was|were|been|is|are|got) moderated\b|\bflagged as (sensitive|nsfw|unsafe|inappropriate|explicit|harmful)\b|^\W{0,5}(the )?(unsafe|inappropriate|sensitive) (prompt|content|input|output)\W{0,5}$|\brisk control\b|sensitivecontentdetected|content_policy_violation|datainspectionfailed|moderation_blocked|sensitive_words_detected|敏感(内容|信息|词)|内容(安全|违规)|违规内容|审核(未|不)通过|未通过(内容|安全)?审核/;

const OUTPUT =
  /\b((output|generated|resulting|finished|produced) (videos?|images?|media|content|data|frames?|results?)|outputs?)\b|生成(的)?(视频|内容)/g;
const IMAGE = /\b(images?|pictures?|photos?|first frame|last frame)\b|图(片|像)/g;
const PROMPT = /\b(prompts?|input text|text)\b|提示词|文本|描述/g;

const NOT_CHARGED =
  /\b(not|never|no longer) (be |been )?(charged|billed|deducted)\b|\bno (credits?|charges?) (was|were|have been|has been|is|are) (charged|deducted|billed|made|used)\b|\b(credits?|cost|amount|payment) (was|were|have been|has been|will be) (refunded|returned)\b/;
const CHARGED = /\b(was|were|have been|has been|will be|will still be) (charged|billed|deducted)\b/;

/** What an answer says about refused content; undefined when nothing in it clearly does. */
export function findRefusedContent(
  bodies: readonly FoundValue[],
  { word, code, message, request }: AnswerWords,
  { content }: Pick<ReadingRules, 'content'>,
): ReadRefusal | undefined {
  const words = withoutQuotes(message ?? '', quotedTexts(bodies, request));
  const codes = [...(code === undefined ? [] : [code]), ...codesIn(bodies)];
  const mark = MARKS.find(([paths, means]) =>
    first(valuesIn(bodies, paths), (value) => means(value) || undefined),
  );
  const rule = content.find((candidate) => matches(candidate, { word, codes, words }));
  const telling = codes.find((one) => CODES.some((pattern) => pattern.test(lettersOf(one))));
  const isState = STATES.includes(normalizeWord(word));
  const isCertain = rule !== undefined || telling !== undefined || isState || mark !== undefined;
  const named = namedField(bodies);
  // A message about another field, such as the duration, may mention the content policy for any reason.
  const isAboutOther = named !== undefined && stageOfField(named) === undefined;
  if (!isCertain && (isAboutOther || !(CLEAR.test(words) || (SUBJECT.test(words) && VERB.test(words)))))
    return undefined;
  const said = first(valuesIn(bodies, STAGE_PATHS), (value) => (isContentStage(value) ? value : undefined));
  const byCode = telling === undefined ? undefined : stageOfCode(lettersOf(telling));
  const byState = normalizeWord(word) === 'contentmoderated' ? 'output' : undefined;
  const stage = onlyPossible(
    rule?.stage ??
      said?.value ??
      byCode ??
      byState ??
      stageOfField(named) ??
      stageInWords(words) ??
      (mark && 'output'),
    request,
  );
  const field = rule?.field ?? fieldFor(stage, named);
  const reason = mark && first(valuesIn(bodies, mark[0]), textFrom)?.value.slice(0, MAX_LENGTH.message);
  const charged = rule?.charged ?? chargeIn(words) ?? chargeIn(plain(reason ?? ''));
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

function codesIn(bodies: readonly FoundValue[]): string[] {
  const codes: string[] = [];
  for (const { value } of valuesIn(bodies, CODE_PATHS)) {
    const code = nameFrom(value)?.slice(0, MAX_LENGTH.code);
    if (code !== undefined) codes.push(code);
    if (codes.length === MOST_CODES) break;
  }
  return codes;
}

const lettersOf = (code: string) => code.toLowerCase().replace(/[^a-z0-9]/g, '');

function matches(
  { codes, states, says }: ReadingRules['content'][number],
  found: { word: string; codes: readonly string[]; words: string },
): boolean {
  const isCode = (candidate: string, code: string) =>
    code.endsWith('*') ? candidate.startsWith(code.slice(0, -1)) : candidate === code;
  if (codes && !codes.some((code) => found.codes.some((candidate) => isCode(candidate, String(code)))))
    return false;
  if (states && !states.some((state) => normalizeWord(String(state)) === normalizeWord(found.word)))
    return false;
  return says === undefined || found.words.includes(says.toLowerCase());
}

function stageOfCode(letters: string): ContentStage | undefined {
  if (/^(safety)?output|^creation/.test(letters)) return 'output';
  if (/prompt|inputtext|words/.test(letters)) return 'prompt';
  return /image|input(video|media)/.test(letters) ? 'image' : undefined;
}

/** The one stage that a message mentions; undefined for none or several. */
function stageInWords(message: string): ContentStage | undefined {
  const mentioned: ContentStage[] = [];
  let rest = message;
  const patterns = { output: OUTPUT, image: IMAGE, prompt: PROMPT } as const;
  for (const stage of ['output', 'image', 'prompt'] as const) {
    const without = rest.replace(patterns[stage], ' ');
    if (without !== rest) mentioned.push(stage);
    rest = without;
  }
  return mentioned.length === 1 && !/\binputs? or\b/.test(message) ? mentioned[0] : undefined;
}

/** A request without an image has only its prompt to refuse. */
function onlyPossible(stage: ContentStage | undefined, request: AnswerWords['request']) {
  const hasPromptAlone = request !== undefined && request.image_url === undefined;
  return hasPromptAlone && stage !== 'output' ? 'prompt' : stage;
}

function chargeIn(message: string): boolean | undefined {
  if (NOT_CHARGED.test(message)) return false;
  return CHARGED.test(message) ? true : undefined;
}

const FIELD_NAME = /^[a-z][a-z0-9_]{0,59}$/i;

/** The last name of a path such as `["body", "image_url"]`, or a name by itself. */
function namedField(bodies: readonly FoundValue[]): string | undefined {
  return first(valuesIn(bodies, FIELD_PATHS), (value) => {
    const names: unknown[] = Array.isArray(value) ? value.slice(0, 10) : [value];
    const name = names.findLast((one) => typeof one === 'string' && FIELD_NAME.test(one));
    return name === 'body' || typeof name !== 'string' ? undefined : name;
  })?.value;
}

function stageOfField(field = ''): ContentStage | undefined {
  if (/image|frame|photo|picture/i.test(field)) return 'image';
  return /prompt|text/i.test(field) ? 'prompt' : undefined;
}

/** The finished video is in no field of the request. */
function fieldFor(stage: ContentStage | undefined, named: string | undefined): string | undefined {
  if (stage === 'output') return undefined;
  const isNamed = named !== undefined && (stage === undefined || stageOfField(named) === stage);
  return isNamed ? named : fieldOfStage(stage);
}

/** A quoted text is recognized by its beginning, or by this much of its middle: less may be the service's own words. */
const BEGINNING_CHARS = 12;
const MIDDLE_CHARS = 24;
const SHORTEST_QUOTED_CHARS = 3;
/** Longer than any prompt; images are longer. */
const LONGEST_QUOTED_CHARS = 20_000;
const MOST_QUOTED = 20;

/** What a message may quote: all texts of the request, and the prompt that the answer repeats. */
function quotedTexts(bodies: readonly FoundValue[], request: AnswerWords['request']): string[] {
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
  let kept = '';
  for (let at = 0; at < message.length; ) {
    const middle = message.slice(at, at + MIDDLE_CHARS);
    const isBeginning = message.startsWith(text.slice(0, BEGINNING_CHARS), at);
    const from = isBeginning ? 0 : middle.length < MIDDLE_CHARS ? -1 : text.indexOf(middle);
    let length = 0;
    while (from !== -1 && at + length < message.length && message[at + length] === text[from + length])
      length++;
    kept += length === 0 ? message[at] : ' ';
    at += Math.max(1, length);
  }
  return kept;
}
