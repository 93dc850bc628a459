import {
  CONTENT_STAGES,
  type ContentStage,
  fieldOfStage,
  type RefusedContent,
} from '../contract/failure-details';
import { type FoundValue, valuesIn } from './answer-paths';
import { firstIn, MAX_LENGTH, nameFrom, textFrom } from './read-values';
import { type AnswerPath, normalizeWord, type ReadingRules } from './reading-rules';

/** A refusal for content in an answer, with the service's own code where it is in an unusual place. */
export interface ReadRefusal extends RefusedContent {
  code?: string;
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
/** Where services name the field that they refused: by its name, or by a path such as `["body", "image_url"]`. */
const FIELD_PATHS = ['error.param', 'param', 'error.field', 'field', 'detail[].loc'];
const FIELD_NAME = /^(?!body$)[a-z][a-z0-9_]{0,59}$/i;
/** Where services repeat the prompt in what they say about a task. */
const PROMPT_PATHS = ['prompt', 'input.prompt', 'request.prompt', 'params.prompt', 'negative_prompt'];
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

/** Codes in small letters, without the signs between their words. test/service/refused-answers.ts says which service has which. */
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

const STATES = /^(nsfw|(request|content)?moderated)$/;

/** A message is at most 1,000 characters long. In one that may mean something else, none of these are. */
const WORDS = [
  /\b(violat(es?|ed|ing)|against|blocked by|rejected by|refused by|filtered by|flagged by|not pass|triggered) (\w+ ){0,3}(content|usage|safety|community|moderation)( (policy|policies|guidelines|rules|filters?|systems?|checkers?)\b|\b(?!_))/,
  /\b(content|usage|safety) policy violation\b|\bmoderation failed\b/,
  /\bflagged as (sensitive|nsfw|unsafe|inappropriate|explicit|harmful)\b|\b(was|were|been) moderated\b/,
  /\b(nsfw|sensitive|inappropriate|unsafe|explicit) (content|material|words|information) (was |were |been )?(detected|found|blocked)\b/,
  /\bcontains? (\w+ ){0,2}(nsfw|sensitive|inappropriate|unsafe|explicit|prohibited) (content|material|information|words)\b/,
  /敏感(内容|信息|词)|内容(安全|违规)|违规内容|审核(未|不)通过|未通过(内容|安全)?审核/,
];
const saysRefused = (text: string) => WORDS.some((words) => words.test(text));

/** What a code, a field or a message is about: the first that is named alone. */
const ABOUT: readonly [ContentStage, RegExp][] = [
  [
    'output',
    /\b(generated|resulting|finished|produced) (video|image|content)s?|output|creation|生成(的)?(视频|内容)/,
  ],
  ['image', /image|picture|photo|frame|图(片|像)/],
  ['prompt', /prompt|text|words|提示词|文本|描述/],
];

/** What an answer says about refused content; undefined when nothing in it clearly does. */
export function findRefusedContent(
  bodies: readonly FoundValue[],
  { word, code, message, request }: AnswerWords,
  { content }: Pick<ReadingRules, 'content'>,
): ReadRefusal | undefined {
  const words = plain(message ?? '');
  const codes = [code, ...codesIn(bodies)].filter((one) => one !== undefined);
  const mark = MARKS.find(([paths, means]) => firstIn(bodies, paths, (value) => means(value) || undefined));
  const rule = content.find((candidate) => matches(candidate, { word, codes, words }));
  const telling = codes.find((one) => CODES.some((pattern) => pattern.test(lettersOf(one))));
  const state = normalizeWord(word);
  const isCertain = STATES.test(state) || (rule ?? telling ?? mark) !== undefined;
  const named = firstIn(bodies, FIELD_PATHS, (value) =>
    [value].flat().findLast((one) => typeof one === 'string' && FIELD_NAME.test(one)),
  );
  const stageOfField = stageIn(String(named?.value));
  if (!isCertain) {
    // A message about another field, such as the duration, may mention the content policy for any reason.
    if (named && stageOfField === undefined) return undefined;
    // Services quote the request: where its own texts have such words, those of the message prove nothing.
    const quoted = [
      ...Object.values(request ?? {}),
      ...valuesIn(bodies, PROMPT_PATHS).map(({ value }) => value),
    ];
    if (!saysRefused(words) || quoted.some((text) => saysRefused(plain(String(text))))) return undefined;
  }
  const said = firstIn(bodies, STAGE_PATHS, (value) => CONTENT_STAGES.find((stage) => stage === value));
  const stage = onlyPossible(
    rule?.stage ??
      said?.value ??
      stageIn(lettersOf(telling ?? '')) ??
      (state === 'contentmoderated' || mark ? 'output' : undefined) ??
      stageOfField ??
      stageIn(words),
    request,
  );
  const { field = fieldOfStage(stage), charged } = rule ?? {};
  return { isCertain, stage, field, charged, code: telling };
}

function codesIn(bodies: readonly FoundValue[]): string[] {
  return valuesIn(bodies, CODE_PATHS).flatMap(
    ({ value }) => nameFrom(value)?.slice(0, MAX_LENGTH.code) ?? [],
  );
}

const lettersOf = (code: string) => code.toLowerCase().replace(/[^a-z0-9]/g, '');

/** In small letters with single spaces, and without links: their names may be anything. */
const plain = (text: string) => text.toLowerCase().replace(/\bhttps?:\/\/[^\s"'<>]+|\s+/g, ' ');

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

/** The one stage that a text mentions; undefined for none or several. "The output image" is an output. */
function stageIn(text: string): ContentStage | undefined {
  const mentioned = ABOUT.filter(([, pattern]) => pattern.test(text)).map(([stage]) => stage);
  if (mentioned[0] === 'output') return /\binput/.test(text) ? undefined : 'output';
  return mentioned.length === 1 ? mentioned[0] : undefined;
}

/** A request without an image has only its prompt to refuse. */
function onlyPossible(stage: ContentStage | undefined, request: AnswerWords['request']) {
  const hasPromptAlone = request !== undefined && request.image_url === undefined;
  return hasPromptAlone && stage !== 'output' ? 'prompt' : stage;
}
