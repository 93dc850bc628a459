import type { RefusedContent } from '../../src/contract/failure-details';
import { readingRules, type ServiceProfile, traceAnswer } from '../../src/service';
import { type Reply, reply } from './raw-server';
import { SERVICES } from './refused-answers';
import { connect, faultOf, serve, submit } from './service-world';

const TEXT = { prompt: 'A red fox' };
const IMAGE = { ...TEXT, image_url: 'https://example.com/fox.png' };

const answering = async (body: unknown, head: Reply = {}) =>
  connect((await serve((request) => reply(request, { ...head, body: JSON.stringify(body) }))).url);
const submitTo = async (body: unknown, head?: Reply) => submit(await answering(body, head), IMAGE);

const SERVICE_MESSAGE = { code: 'bad_prompt', message: 'No foxes.' };

describe('an answer with status 200 to a submit', () => {
  it.each<[body: object, status: number, code: string | undefined]>([
    [{ code: 429, message: 'No foxes.' }, 429, '429'],
    [{ status: 422, message: 'No foxes.', request_id: 'abc' }, 422, undefined],
    [{ error: { code: 404, message: 'No foxes.' }, request_id: 'abc' }, 404, '404'],
  ])('that has an HTTP status in its body counts as an answer with it: %j', async (body, status, code) => {
    expect(await faultOf(submitTo(body))).toMatchObject({
      kind: 'answered',
      facts: { status, code, message: 'No foxes.', ...(status === 429 && { limited: true }) },
    });
  });

  it.each<[body: object, serviceMessage: object]>([
    [{ error: SERVICE_MESSAGE, id: 1, jsonrpc: '2.0' }, SERVICE_MESSAGE],
    [{ success: false, message: 'No foxes.', request_id: 'abc' }, { message: 'No foxes.' }],
    [{ status: 'error', message: 'No foxes.', request_id: 'abc' }, { message: 'No foxes.' }],
    [{ errors: [{ message: 'No foxes.' }], request_id: 'abc' }, { message: 'No foxes.' }],
    [{ error: true, message: 'No foxes.', request_id: 'abc' }, { message: 'No foxes.' }],
    [{ name: 'FoxError', message: 'No foxes.' }, { message: 'No foxes.' }],
  ])('that refuses in its body is a refusal, with the service’s own message: %j', async (body, said) => {
    expect(await faultOf(submitTo(body))).toMatchObject({ kind: 'refused', facts: { status: 200, ...said } });
  });

  it('that has an unknown code and no clear task id may have made a task, and is quoted', async () => {
    const body = { code: 1102, message: 'No balance', request_id: 'abc' };
    expect(await faultOf(submitTo(body))).toMatchObject({
      kind: 'unreadable',
      facts: { status: 200, code: '1102', message: `the answer names no task: ${JSON.stringify(body)}` },
    });
  });

  it.each<[body: object, taskId: string]>([
    [{ request_id: 'abc', status: 'IN_QUEUE', queue_position: 1 }, 'abc'],
    [{ request_id: 'abc', error: { code: 0, message: '' }, errors: [] }, 'abc'],
    [{ request_id: 'abc', code: 'success', success: true }, 'abc'],
    // A task that has already failed is still a task: a poll returns the reason.
    [{ request_id: 'abc', status: 'failed', error: SERVICE_MESSAGE }, 'abc'],
    // Paths that mean a task and nothing else.
    [{ data: { task_id: 't' }, success: false }, 't'],
    [{ generation_id: 'g', code: 500 }, 'g'],
    [{ name: 'ErrorsOfFoxes' }, 'ErrorsOfFoxes'],
    [{ code: 7, message: 'fine', id: 't' }, 't'],
  ])('that names a task has made it: %j', async (body, taskId) => {
    expect(await submitTo(body)).toMatchObject({ taskId });
  });

  it('that names a task and has an error leaves a doubt', async () => {
    expect(await submitTo({ task_id: 't', request_id: 'abc', error: SERVICE_MESSAGE })).toEqual({
      taskId: 't',
      doubts: ['task_id is t, and error says that the request was refused'],
    });
  });
});

it.each([
  ['https://user:pass@api.example.com/v2/videos?token=abc', 'https://api.example.com'],
  ['/v2/videos?token=abc', 'another path of the service'],
])('a redirect of a submit to %s says only to which origin it leads', async (location, where) => {
  expect((await faultOf(submitTo('', { status: 308, headers: { location } }))).facts).toMatchObject({
    status: 308,
    message: `it redirects to ${where}`,
  });
});

/** What an answer says about refused content: a refusal, as most of these are. */
function readAs(body: object, request?: object, { status = 400, profile = {} as ServiceProfile } = {}) {
  const answer = { status, body: JSON.stringify(body), ...(request && { request }) };
  return traceAnswer(answer, readingRules(profile)).refusedContent;
}
const error = (message: string, code = 'invalid_request', more = {}) => ({
  error: { code, message, ...more },
});

it.each(
  SERVICES.flatMap(({ name, answers, profile }) =>
    answers.map((answer) => ({ name, profile, ...answer, said: JSON.stringify(answer.body).slice(0, 80) })),
  ),
)(
  'a documented refusal of content is known: $name: $said',
  ({ body, status = 200, request, profile, refused }) => {
    expect(readAs(body, request, { status, profile })).toEqual({
      ...refused,
      isCertain: expect.any(Boolean),
    });
  },
);

describe('an error is no refusal of content', () => {
  const PROMPT = 'A sign that says "content policy violation": nsfw content detected, blocked by moderation';
  const quoting = (quoted: string) => error(`duration must be at most 10, in the request for ${quoted}`);

  it.each<[why: string, body: object]>([
    ['names a parameter', error('content_filter is not a known parameter: it was rejected')],
    ['refuses a link', error('unsafe image url: private addresses are rejected')],
    [
      'is of a check that did not work',
      error('the prompt could not be checked by moderation: timeout', 'moderation_failed'),
    ],
    ['is about another field', error('blocked by the content policy', 'invalid', { param: 'seed' })],
    ['has a link', error('cannot fetch https://cdn.example.com/nsfw/detected/1')],
  ])('because it %s', (_why, body) => {
    expect(readAs(body, IMAGE)).toBeUndefined();
  });

  it.each<[how: string, body: object, prompt?: string]>([
    ['in JSON', quoting(JSON.stringify(PROMPT))],
    [
      'with other spaces',
      error('"content policy violation, nsfw content detected" is too long'),
      '  content   policy\n\nviolation,  nsfw   content detected ',
    ],
    ['of three characters', error('无法解析：敏感词'), '敏感词'],
  ])('because it quotes the prompt, %s', (_how, body, prompt = PROMPT) => {
    expect(readAs(body, { prompt })).toBeUndefined();
  });

  it('because it quotes the prompt that it repeats beside the state of the task', () => {
    const failed = { id: 't', status: 'failed', ...error(`internal error, while rendering ${PROMPT}`) };
    for (const body of [{ ...failed, prompt: PROMPT }, { data: { ...failed, input: { prompt: PROMPT } } }])
      expect(readAs(body, undefined, { status: 200 })).toBeUndefined();
  });

  it.each([
    { status: 'queued', error: { code: 'content_policy_violation', message: 'x' } },
    { status: 'cancelled', message: 'blocked by moderation' },
  ])('while the task is %j', (body) => {
    expect(readAs(body, undefined, { status: 200 })).toBeUndefined();
  });
});

describe('what was refused', () => {
  it.each<[message: string, request: object, refused: RefusedContent]>([
    ['the image violates the content policy', IMAGE, { stage: 'image', field: 'image_url' }],
    ['the prompt or the image violates the content policy', IMAGE, {}],
    ['the image violates the content policy', TEXT, { stage: 'prompt', field: 'prompt' }],
    // Its own words, although a piece of them is in the prompt.
    [
      'this violates the content policy',
      { prompt: 'A poster about the content policy of a library' },
      { stage: 'prompt', field: 'prompt' },
    ],
  ])('%s, of %j', (message, request, refused) => {
    expect(readAs(error(message), request)).toEqual({ isCertain: false, ...refused });
  });

  /** As their services write them, and near ones that mean something else. */
  const CODES = {
    known:
      'safety safety_input safety-output safety_violation safety_block OutputAudioRiskDetection DataInspectionFailed ' +
      'IPInfringementSuspect AuditSubmitIllegal prohibited_content rai_blocked rai_filtered policy_violation ' +
      'usage_policy_violation ResponsibleAIPolicyViolation content_policy content_filter content_filtered ' +
      'content_violation content_moderation content_moderated content_blocked content_rejected content_refused ' +
      'prompt_blocked negative_prompt_unsafe image_moderation output_moderated unsafe_prompt unsafe_request moderation ' +
      'moderated input_moderation_rejected request_moderated_blocked nsfw nsfw_content nsfw_detected sensitive ' +
      'sensitive_content sensitive_words_detected',
    other:
      'safetynet unsafety_input no_input_text_risk_detection data_inspection_failed_over my_ip_infringement_suspect ' +
      'audit_submit_illegals not_rai_blocked rai_blocked_by policy_violations billing_policy_violation my_content_policy ' +
      'content_policy_missing discontent_filter content_filter_missing an_image_blocked image_blocked_by not_unsafe_image ' +
      'unsafe_images moderation_failed pre_moderation nsfw_off sfw_nsfw insensitive sensitive_content_detector',
  };

  const SENTENCES = {
    known:
      'it violates our content policy; violating the very strict community guidelines; violated usage rules; ' +
      'against a b c content policies; blocked by moderation; rejected by our content filter; refused by safety systems; ' +
      'filtered by a safety checker; flagged by content filters; did not pass moderation; triggered the content system; ' +
      'a usage policy violation; moderation failed; flagged as harmful; it was moderated; has been moderated; ' +
      'nsfw content detected; explicit material was found; unsafe words were blocked; it contains prohibited content; ' +
      'may contain some very explicit material; 敏感内容; 敏感信息; 敏感词; 内容安全; 内容违规; 违规内容; 审核未通过; ' +
      '审核不通过; 未通过审核; 未通过内容审核; 未通过安全审核',
    other:
      'against a b c d content rules; it violates content_type; inviolates content; violates contents; ' +
      'discontent policy violation; premoderation failed; moderation failedover; unflagged as nsfw; flagged as harmfully; ' +
      'swas moderated; was moderatedly; insensitive content detected; nsfw content detectedly; ' +
      'contains a b c explicit material; contains explicit materials; ucontains nsfw content; 敏感; 审核通过',
  };

  it.each([
    ['codes', CODES, ' ', (code: string) => error('No.', code)],
    ['sentences', SENTENCES, '; ', (message: string) => error(message)],
  ])('follows from the %s that services have for it, and not from others that are like them', (...row) => {
    const [, { known, other }, between, bodyOf] = row;
    const refusing = (texts: string) => texts.split(between).filter((text) => readAs(bodyOf(text), IMAGE));
    expect(refusing(known)).toEqual(known.split(between));
    expect(refusing(other)).toEqual([]);
  });

  it.each([
    ['output', 'generated videos, resulting image, finished content, output, creation, 生成视频, 生成的内容'],
    ['image', 'image, picture, photo, frame, 图片, 图像'],
    ['prompt', 'prompt, text, words, 提示词, 文本, 描述'],
    [undefined, 'input or the output, unfinished video'],
  ])('is the %s if the message names only that: %s', (stage, names) => {
    for (const name of names.split(', ')) {
      const refused = readAs(error(`the ${name} violates the content policy`), IMAGE);
      expect([name, refused?.stage]).toEqual([name, stage]);
    }
  });

  it('follows from a code at any place where services have codes, which is returned, cut', () => {
    const reason = `safety_input_text_${'x'.repeat(200)}`;
    const code = reason.slice(0, 100);
    expect(readAs({ reason })).toEqual({ isCertain: true, stage: 'prompt', field: 'prompt', code });
    for (const body of [
      { error: { code: 'x', innererror: { code } } },
      { error: { code: 'x', type: code, details: [{ reason: 'x' }, { reason: 'x' }] } },
      { error: { code: 'x', details: [{ reason: 'x' }, { reason: code }] } },
      { detail: [{ type: code }] },
      ...['errCode', 'ErrCodeExt', 'failure_code', 'type', 'title'].map((key) => ({
        code: 'x',
        [key]: code,
      })),
    ])
      expect([body, readAs(body)?.code]).toEqual([body, code]);
  });

  it.each([
    ['nsfw', {}],
    ['Request Moderated', {}],
    ['content_moderated', { stage: 'output' }],
  ])('follows from the state %s', (state, refused) => {
    expect(readAs({ status: state }, undefined, { status: 200 })).toEqual({ isCertain: true, ...refused });
  });

  it.each([
    [{ raiMediaFilteredReasons: ['Withheld.'] }],
    [{ raiMediaFilteredCount: 1 }],
    [{ has_nsfw_contents: [false, true] }],
    [{ nsfw_content_detected: true }],
    [{ video: { respect_moderation: false } }],
  ])('is the video, withheld, when it is marked by %j', (flag) => {
    expect(readAs(flag)).toEqual({ isCertain: true, stage: 'output' });
  });
});

it.each<[rule: object, body: object, refused: RefusedContent | undefined, read?: ServiceProfile['read']]>([
  [{ codes: [4711], stage: 'image' }, error('no', '4711'), { stage: 'image', field: 'image_url' }],
  [
    { codes: ['fox'], stage: 'prompt', field: 'script' },
    error('no', 'fox'),
    { stage: 'prompt', field: 'script' },
  ],
  [{ codes: ['a', 'FOX.*'], charged: true }, error('no', 'FOX.7'), { charged: true }],
  [{ codes: ['fox'] }, { e: { c: 'fox' } }, {}, { code: 'e.c' }],
  [{ says: 'House Rules' }, error('against the HOUSE rules'), {}],
  [{ codes: ['E1'], says: 'House Rules' }, error('against the rules', 'E1'), undefined],
  [{ states: ['banned'] }, { state: 'Banned' }, {}],
  [{ states: ['banned'] }, { state: 'failed' }, undefined],
])('by the rule %j of a profile, %j is refused as %j', (rule, body, refused, read = {}) => {
  const profile = { refusals: { content: [rule] }, states: { failed: ['banned'] }, read };
  expect(readAs(body, undefined, { profile })).toEqual(refused && { isCertain: true, ...refused });
});

it('a success whose video is withheld is failed, and one with a link is a success', async () => {
  const flag = { status: 'completed', has_nsfw_contents: [true] };
  expect(await (await answering({ ...flag, outputs: [] })).status('t')).toMatchObject({
    task: { state: 'failed', word: 'completed' },
    refusedContent: { stage: 'output' },
  });
  const outputs = ['https://x.example/v.mp4'];
  expect(await (await answering({ ...flag, outputs })).status('t')).toMatchObject({
    task: { state: 'succeeded', videoUrl: 'https://x.example/v.mp4' },
    refusedContent: undefined,
    doubts: ['the video is marked as refused, and there is a link to it'],
  });
});

it('422 to a poll ends the task if its code says that the content was refused', async () => {
  const detail = (type: string) => ({ detail: [{ loc: ['body', 'prompt'], msg: 'no', type }] });
  const refused = await answering(detail('content_policy_violation'), { status: 422 });
  expect(await refused.status('t')).toMatchObject({
    task: { state: 'failed', word: 'HTTP 422' },
    serviceMessage: { code: 'content_policy_violation', message: 'no' },
    refusedContent: { stage: 'prompt', field: 'prompt' },
  });
  for (const [status, body] of [
    [422, detail('image_load')],
    [400, error('the prompt violates the content policy')],
  ] as const)
    expect(await faultOf((await answering(body, { status })).status('t'))).toMatchObject({
      kind: 'answered',
      facts: { status },
    });
});

it('a refusal of content under HTTP 200 is one, even if its code is unknown', async () => {
  const nothing = { data: null, retryable: false, hint: '' };
  const body = { code: 99, message: 'sensitive content detected in the image', ...nothing };
  expect(await faultOf(submitTo(body))).toMatchObject({
    kind: 'refused',
    facts: { code: '99', refusedContent: { stage: 'image', field: 'image_url' } },
  });
});

it.each([
  { code: 'E_NOTE', message: 'It has begun. What violates our content policy is blocked.', job: 'j-1' },
  { code: 99, msg: 'no nsfw content was detected', data: { handle: 17 } },
])('a submit is lost if its answer only mentions the policy and may have a task: %j', async (body) => {
  expect((await faultOf(submitTo(body))).kind).toBe('unreadable');
});
