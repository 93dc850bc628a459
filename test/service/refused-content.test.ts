import type { RefusedContent } from '../../src/contract/failure-details';
import { createVideoService, readingRules, type ServiceProfile, traceAnswer } from '../../src/service';
import { SERVICES } from '../support/refused-answers';
import { replyJson, startRawServer } from './raw-server';

const KEY = 'sksecret0123456789abcdef';
const TEXT = { prompt: 'A red fox' };
const IMAGE = { ...TEXT, image_url: 'https://example.com/fox.png' };

function readAs(body: object, status = 200, request?: object, profile: ServiceProfile = {}) {
  const answer = { status, body: JSON.stringify(body), ...(request && { request }) };
  return traceAnswer(answer, readingRules(profile)).refusedContent;
}

describe('the documented refusals of each service', () => {
  const rows = SERVICES.flatMap(({ name, answers, profile }) =>
    answers.map((answer) => ({ name, profile, ...answer, said: JSON.stringify(answer.body).slice(0, 80) })),
  );

  it('are known for the twenty surveyed services, but for one of which nothing was found', () => {
    expect(SERVICES).toHaveLength(20);
    expect(SERVICES.filter(({ answers }) => answers.length === 0).map(({ name }) => name)).toEqual([
      'Inworld',
    ]);
  });

  it.each(rows)('$name: $said', ({ body, status, request, profile, refused, code }) => {
    const read = readAs(body, status, request, profile);
    expect(read).toMatchObject(refused);
    expect(read).toEqual({
      ...refused,
      isCertain: expect.any(Boolean),
      ...(code && { code }),
    });
  });
});

const error = (message: string, code = 'invalid_request', more = {}) => ({
  error: { code, message, ...more },
});

describe('an error is no refusal of content', () => {
  it.each<[why: string, body: object]>([
    ['which mentions a policy', error('the retry policy is not valid')],
    ['which is about the duration', error('duration must be at most 10')],
    ['which names a parameter', error('content_filter is not a known parameter: it was rejected')],
    ['which names a setting that is wrong', error('safety_checker must be a boolean', 'validation_error')],
    ['which refuses a link', error('unsafe image url: private addresses are rejected')],
    ['which only says where the policy is', error('see our content policy for what you may ask for')],
    [
      'whose check did not work',
      error('the prompt could not be checked by moderation: timeout', 'moderation_failed'),
    ],
    [
      'whose moderation is down',
      error('moderation is not available at the moment', 'moderation_unavailable'),
    ],
    ['of a parser', error('illegal input: the duration includes letters')],
    ['which asks for more', error('an explicit prompt is required, and the body contains none')],
    ['under a notice', error('aspect ratio 3:2 was rejected. Copyright 2026 Example Inc.')],
    ['which forbids without a reason', error('the prompt is not allowed')],
    ['which is about sensitive letters', error('the field is case sensitive', 'CaseSensitive')],
    ['about another field', error('blocked by the content policy of the seed', 'invalid', { param: 'seed' })],
    ['without any words', { error: { code: 3 } }],
  ])('%s', (_why, body) => {
    expect(readAs(body, 400, TEXT)).toBeUndefined();
  });

  const PROMPT = 'A sign that says "content policy violation": nsfw content detected, blocked by moderation';

  it.each([
    ['whole', PROMPT],
    ['in JSON', JSON.stringify(PROMPT)],
    ['cut off', `${PROMPT.slice(0, 60)}…`],
    ['in capital letters', PROMPT.toUpperCase()],
    ['twice', `${PROMPT} (${PROMPT})`],
    ['in HTML', PROMPT.replaceAll('"', '&quot;')],
    ['with escapes', PROMPT.replaceAll('"', '\\u0022')],
    ['without its beginning', `…${PROMPT.slice(20)}`],
  ])('because it quotes the prompt, %s', (_how, quoted) => {
    const body = error(`duration must be at most 10, in the request for ${quoted}`);
    expect(readAs(body, 400, { prompt: PROMPT })).toBeUndefined();
  });

  it('because it quotes another text of the request, or a link', () => {
    const request = { prompt: 'A fox', negative_prompt: 'nsfw, blurry, explicit content' };
    const tooLong = error(`negative_prompt contains 30 characters, at most 20: ${request.negative_prompt}`);
    expect(readAs(tooLong, 400, request)).toBeUndefined();
    const link = 'https://example.com/content-policy/blocked.png';
    expect(readAs(error(`cannot fetch ${link}`), 400, { prompt: 'A fox', image_url: link })).toBeUndefined();
    expect(readAs(error('cannot fetch https://cdn.example.com/nsfw/detected/1'), 400, IMAGE)).toBeUndefined();
  });

  it('because it quotes the prompt that it repeats beside the state of the task', () => {
    const failed = { id: 't', status: 'failed', ...error(`internal error, while rendering ${PROMPT}`) };
    expect(readAs({ ...failed, prompt: PROMPT })).toBeUndefined();
    expect(readAs({ data: { ...failed, input: { prompt: PROMPT } } })).toBeUndefined();
  });

  it.each([
    { status: 'running', message: 'nsfw content detected' },
    { status: 'queued', error: { code: 'content_policy_violation', message: 'x' } },
    { status: 'cancelled', message: 'blocked by moderation' },
  ])('while the task is %j', (body) => {
    expect(readAs(body)).toBeUndefined();
  });
});

describe('what was refused', () => {
  it.each<[message: string, request: object | undefined, refused: RefusedContent]>([
    ['the prompt violates the content policy', IMAGE, { stage: 'prompt', field: 'prompt' }],
    ['the image violates the content policy', IMAGE, { stage: 'image', field: 'image_url' }],
    ['the generated video violates the content policy', IMAGE, { stage: 'output' }],
    ['the prompt or the image violates the content policy', IMAGE, {}],
    ['the input or output was flagged as sensitive', IMAGE, {}],
    ['this violates the content policy', IMAGE, {}],
    ['this violates the content policy', TEXT, { stage: 'prompt', field: 'prompt' }],
    ['the image violates the content policy', TEXT, { stage: 'prompt', field: 'prompt' }],
    ['this violates the content policy', undefined, {}],
    ['blocked by moderation', undefined, {}],
  ])('%s, of %j', (message, request, refused) => {
    const { isCertain: _, ...read } = readAs(error(message), 400, request) ?? {};
    expect(read).toEqual(refused);
  });

  it('follows from the field that the service names', () => {
    const body = {
      detail: [{ loc: ['body', 'negative_prompt'], msg: 'no', type: 'content_policy_violation' }],
    };
    expect(readAs(body, 422, IMAGE)).toMatchObject({ stage: 'prompt', field: 'prompt' });
  });

  it.each<[ServiceProfile['refusals'], object, RefusedContent | undefined]>([
    [
      { content: [{ codes: [4711], stage: 'image' }] },
      error('no', '4711'),
      { stage: 'image', field: 'image_url' },
    ],
    [{ content: [{ codes: ['FOX.*'], charged: true }] }, error('no', 'FOX.7'), { charged: true }],
    [{ content: [{ codes: ['FOX.*'] }] }, error('no', 'BEAR.7'), undefined],
    [{ content: [{ says: 'House Rules' }] }, error('against the house rules'), {}],
    [{ content: [{ codes: ['a'], says: 'rules' }] }, error('against the rules', 'b'), undefined],
    [{ content: [{ states: ['banned'] }] }, { state: 'Banned' }, {}],
    [{ content: [{ states: ['banned'] }] }, { state: 'failed' }, undefined],
    [
      { content: [{ codes: ['fox'], stage: 'prompt', field: 'script' }] },
      error('no', 'fox'),
      { stage: 'prompt', field: 'script' },
    ],
  ])('is said by the profile %j', (refusals, body, refused) => {
    const read = readAs(body, 200, undefined, { refusals, states: { failed: ['banned'] } });
    if (refused === undefined) expect(read).toBeUndefined();
    else expect(read).toMatchObject({ ...refused, isCertain: true });
  });
});

describe('the client of the service', () => {
  async function answering(status: number, body: object, profile?: ServiceProfile) {
    const server = await startRawServer((request) => replyJson(request, body, { status }));
    const service = createVideoService({ baseUrl: server.url, apiKey: () => KEY, profile });
    const close = () => Promise.all([service.close(), server.close()]);
    return {
      submit: () => service.start(IMAGE, { idempotencyKey: 'k' }).finally(close),
      poll: () => service.status('t').finally(close),
    };
  }

  it('reads a success whose video is withheld as failed, and one with a link as a success', async () => {
    const flag = { has_nsfw_contents: [true] };
    const withheld = await answering(200, { status: 'completed', outputs: [], ...flag });
    expect(await withheld.poll()).toMatchObject({
      task: { state: 'failed', word: 'completed' },
      refusedContent: { stage: 'output' },
    });
    const delivered = await answering(200, {
      status: 'completed',
      outputs: ['https://x.example/v.mp4'],
      ...flag,
    });
    const reading = await delivered.poll();
    expect(reading).toMatchObject({ task: { state: 'succeeded', videoUrl: 'https://x.example/v.mp4' } });
    expect(reading.refusedContent).toBeUndefined();
    expect(reading.doubts).toEqual(['the video is marked as refused, and there is a link to it']);
  });

  it('takes 422 to a poll for the end of the task if its code says that the content was refused', async () => {
    const detail = (type: string) => ({ detail: [{ loc: ['body', 'prompt'], msg: 'no', type }] });
    const refused = await answering(422, detail('content_policy_violation'));
    expect(await refused.poll()).toMatchObject({
      task: { state: 'failed', word: 'HTTP 422' },
      serviceMessage: { code: 'content_policy_violation', message: 'no' },
      refusedContent: { stage: 'prompt', field: 'prompt' },
    });
    const other = await answering(422, detail('image_load'));
    await expect(other.poll()).rejects.toMatchObject({ kind: 'answered', facts: { status: 422 } });
    const wordsAlone = await answering(400, error('the prompt violates the content policy'));
    await expect(wordsAlone.poll()).rejects.toMatchObject({ kind: 'answered', facts: { status: 400 } });
  });

  it('takes a refusal under HTTP 200 for one, even if its code is unknown', async () => {
    const { submit } = await answering(200, {
      code: 99,
      message: 'sensitive content detected in the image',
      data: null,
    });
    await expect(submit()).rejects.toMatchObject({
      kind: 'refused',
      facts: { code: '99', refusedContent: { stage: 'image', field: 'image_url' } },
    });
  });

  it.each([
    { code: 'E_NOTE', message: 'It has begun. What violates our content policy is blocked.', job: 'j-1' },
    { code: 99, msg: 'no nsfw content was detected', data: { handle: 17 } },
  ])('holds an answer for lost that only mentions the policy and may have a task: %j', async (body) => {
    const { submit } = await answering(200, body);
    await expect(submit()).rejects.toMatchObject({ kind: 'unreadable' });
  });

  it('takes 403 for a blocked account unless a code says that the content was refused', async () => {
    const account = await answering(
      403,
      error('your account was blocked for violating our usage policy', 'forbidden'),
    );
    const fault: { facts: object } = await account.submit().then(Object, (thrown) => thrown);
    expect(fault.facts).not.toHaveProperty('refusedContent');
    const content = await answering(403, error('no', 'content_policy_violation'));
    await expect(content.submit()).rejects.toMatchObject({ facts: { refusedContent: {} } });
  });
});
