import type { ContentStage } from '../contract/failure-details';
import { type AnswerPath, normalizeWord } from './reading-rules';

/**
 * How services say that their content policy refused something. docs/refused-content.md says which service says what. A sign
 * must be clear: a refusal that may mean something else stays what it is without these tables.
 */

/** What a sign says about the stage; undefined when the service uses it for more than one. */
interface Sign {
  stage?: ContentStage;
}

/** Where error codes may be, beside those that are read anyway: the more telling ones first. */
export const SIGN_PATHS: readonly AnswerPath[] = [
  ...['error.code', 'error.innererror.code', 'error.details[].reason', 'error.type', 'code', 'err_code'],
  ...['errCode', 'ErrCode', 'ErrCodeExt', 'failureCode', 'failCode', 'failure_code', 'detail[].type'],
  ...['reason', 'type', 'title'],
];

/** Patterns for codes in small letters, without the signs between their words. */
const CODES: readonly (Sign & { code: RegExp })[] = [
  { code: /^safetyinputtext/, stage: 'prompt' },
  { code: /^safetyinput(image|video|media)/, stage: 'image' },
  { code: /^safetyoutput/, stage: 'output' },
  { code: /^safety(input|violation|block(ed)?|$)/ },
  { code: /^inputtext(sensitivecontentdetected|riskdetection)/, stage: 'prompt' },
  { code: /^input(image|video)(sensitivecontentdetected|riskdetection)/, stage: 'image' },
  { code: /^output(video|image|audio|text)(sensitivecontentdetected|riskdetection)/, stage: 'output' },
  { code: /^taskpromptpolicyviolation$/, stage: 'prompt' },
  { code: /^creationpolicyviolation$/, stage: 'output' },
  { code: /^auditsubmitillegal$/ },
  { code: /datainspectionfailed$/ },
  { code: /^ipinfringementsuspect$/ },
  {
    code: /^(prompt(blocked|unsafe|moderated)|\w+promptunsafe|unsafeprompt|sensitivewordsdetected)$/,
    stage: 'prompt',
  },
  { code: /^(unsafeimage|imageunsafe|imagemoderated|imageblocked)$/, stage: 'image' },
  { code: /^(outputmoderation|outputmoderated|outputblocked|outputunsafe)$/, stage: 'output' },
  { code: /^inputmoderation$/ },
  { code: /^content(policy(violation)?|filter(ed)?|violation|moderat(ion|ed)|blocked|rejected|refused)$/ },
  {
    code: /^(moderation(blocked|rejected)?|moderated|requestmoderated|policyviolation|usagepolicyviolation)$/,
  },
  { code: /^(responsibleaipolicyviolation|raiblocked|raifiltered|prohibitedcontent)$/ },
  { code: /^(nsfw(content)?(detected)?|unsafe(content|request)|sensitive(content|input)?(detected)?)$/ },
];

/** The sign of an error code. */
export function signOfCode(code: string): Sign | undefined {
  const plain = code.toLowerCase().replace(/[^a-z0-9]/g, '');
  return CODES.find((sign) => sign.code.test(plain));
}

const STATES = new Map<string, Sign>([
  ['nsfw', {}],
  ['moderated', {}],
  [normalizeWord('request_moderated'), {}],
  [normalizeWord('content_moderated'), { stage: 'output' }],
]);

/** The sign of the word for the state of a task. */
export function signOfState(word: string): Sign | undefined {
  return STATES.get(normalizeWord(word));
}

/** Marks of a finished video that is withheld. */
export const FLAGS: readonly { path: AnswerPath; means: (value: unknown) => boolean }[] = [
  ...['raiMediaFilteredReasons[]', 'response.raiMediaFilteredReasons[]'].map(reasons),
  reasons('response.generateVideoResponse.raiMediaFilteredReasons[]'),
  ...['raiMediaFilteredCount', 'response.raiMediaFilteredCount'].map(count),
  count('response.generateVideoResponse.raiMediaFilteredCount'),
  ...['has_nsfw_contents[]', 'has_nsfw_concepts[]', 'has_nsfw_content[]', 'nsfw_content_detected[]'].map(
    isTrue,
  ),
  ...['respect_moderation', 'video.respect_moderation'].map(isFalse),
];

function reasons(path: AnswerPath) {
  return { path, means: (value: unknown) => typeof value === 'string' && value.trim() !== '' };
}

function count(path: AnswerPath) {
  return { path, means: (value: unknown) => typeof value === 'number' && value > 0 };
}

function isTrue(path: AnswerPath) {
  return { path, means: (value: unknown) => value === true };
}

function isFalse(path: AnswerPath) {
  return { path, means: (value: unknown) => value === false };
}

/** Where OpenAI's services say whether the input or the output was refused. */
export const STAGE_PATHS: readonly AnswerPath[] = [
  'error.moderation_details.moderation_stage',
  'moderation_details.moderation_stage',
];

/** Where services name the field that they refused. */
export const FIELD_PATHS: readonly AnswerPath[] = [
  'error.param',
  'param',
  'error.field',
  'field',
  'detail[].loc',
];

// A message is at most 1,000 characters long, and no pattern has a repetition inside a repetition.
const REFUSES =
  /\b(violat(es?|ed|ing|ions?)|block(s|ed)?|flag(s|ged)|reject(s|ed)?|refus(es?|ed)|filtered|prohibit(s|ed)?|disallow(s|ed)?|declined|withheld|triggered|not (allowed|permitted|comply)|(did|does) not (pass|meet|comply)|fail(s|ed|ure)? to (pass|comply))\b/;
const CONTAINS =
  /\b(contain(s|ed|ing)?|includ(es?|ed|ing)|detect(s|ed)|involv(es?|ed|ing)|depict(s|ed|ing)?|related to|flag(s|ged)|block(s|ed)?|reject(s|ed)?|refus(es?|ed)|violat(es?|ed|ing))\b/;

/**
 * A message means a refusal when it has the subject, and a verb where one is needed. Words are separated by spaces: with
 * underscores they name a parameter.
 */
const WORDS: readonly { subject: RegExp; verb?: RegExp }[] = [
  {
    subject:
      /\b(content|usage|safety|community|acceptable use|prohibited use|moderation|responsible ai)[ -](polic(y|ies)|guidelines?|standards?|rules|filters?|systems?|checkers?|checks?|security policy)\b/,
    verb: REFUSES,
  },
  {
    subject: /\bmoderation\b/,
    verb: /\b(block(s|ed)?|reject(s|ed)?|refus(es?|ed)|flag(s|ged)|not allowed|did not pass)\b/,
  },
  { subject: /\badvanced moderation failed\b/ },
  { subject: /\b(was|were|been|is|are|got) moderated\b/ },
  { subject: /\bflagged as (sensitive|nsfw|unsafe|inappropriate|explicit|harmful)\b/ },
  { subject: /\b(nsfw|not safe for work)\b/, verb: CONTAINS },
  {
    subject:
      /\b(inappropriate|unsafe|sensitive|harmful|prohibited|disallowed|sexual|adult) (contents?|material|information|imagery|images?|prompts?|text|words?|input|output)\b(?! (urls?|links?|fields?|parameters?))/,
    verb: CONTAINS,
  },
  // Parsers call an input illegal, and ask for an explicit prompt.
  { subject: /\b(explicit|illegal) (contents?|material|information|imagery|images)\b/, verb: CONTAINS },
  { subject: /^\W{0,5}(the )?(unsafe|inappropriate|sensitive) (prompt|content|input|output)\W{0,5}$/ },
  {
    subject:
      /\b(real (person|people)|likeness(es)?|copyrighted|copyright (infringements?|violations?|protected|materials?|contents?)|celebrit(y|ies)|public figures?)\b/,
    verb: CONTAINS,
  },
  { subject: /\brisk control\b/ },
  {
    subject:
      /sensitivecontentdetected|content_policy_violation|datainspectionfailed|moderation_blocked|sensitive_words_detected/,
  },
  { subject: /敏感(内容|信息|词)|内容(安全|违规)|违规内容|审核(未|不)通过|未通过(内容|安全)?审核/ },
];

/** Whether a message, in small letters, means that the content was refused. */
export function meansRefusedContent(message: string): boolean {
  return WORDS.some(
    ({ subject, verb }) => subject.test(message) && (verb === undefined || verb.test(message)),
  );
}

const MENTIONS: readonly [ContentStage, RegExp][] = [
  [
    'output',
    /\b((output|generated|resulting|finished|produced) (videos?|images?|media|content|data|frames?|results?)|outputs?)\b|生成(的)?(视频|内容)/g,
  ],
  ['image', /\b(images?|pictures?|photos?|first frame|last frame)\b|图(片|像)/g],
  ['prompt', /\b(prompts?|input text|text)\b|提示词|文本|描述/g],
];

/** The one stage that a message, in small letters, mentions; undefined for none or several. */
export function stageInWords(message: string): ContentStage | undefined {
  const mentioned: ContentStage[] = [];
  let rest = message;
  for (const [stage, pattern] of MENTIONS) {
    const without = rest.replace(pattern, ' ');
    if (without !== rest) mentioned.push(stage);
    rest = without;
  }
  return mentioned.length === 1 && !/\binputs? or\b/.test(message) ? mentioned[0] : undefined;
}

const NOT_CHARGED =
  /\b(not|never|no longer) (be |been )?(charged|billed|deducted)\b|\bno (credits?|charges?) (was|were|have been|has been|is|are) (charged|deducted|billed|made|used)\b|\b(credits?|cost|amount|payment) (was|were|have been|has been|will be) (refunded|returned)\b/;
const CHARGED = /\b(was|were|have been|has been|will be|will still be) (charged|billed|deducted)\b/;

/** Whether a message, in small letters, says that it was charged. */
export function chargeInWords(message: string): boolean | undefined {
  if (NOT_CHARGED.test(message)) return false;
  return CHARGED.test(message) ? true : undefined;
}
