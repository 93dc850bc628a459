import type { ServiceProfile } from '../../src/service/profile';
import { traceAnswer } from '../../src/service/read-answer';
import { readingRules } from '../../src/service/reading-rules';

type Request = { prompt?: string; image_url?: string };

function refusedIn(
  body: object,
  { request, profile = {} }: { request?: Request; profile?: ServiceProfile } = {},
) {
  const answer = { status: 400, body: JSON.stringify(body), ...(request && { request }) };
  return traceAnswer(answer, readingRules(profile)).refusedContent;
}
const IMAGE = { prompt: 'A red fox', image_url: 'https://example.com/fox.png' };
const error = (message: string, more: object = {}) => ({ error: { code: 'E1', message, ...more } });

describe('a withheld video', () => {
  const WITHHELD = { isCertain: true, stage: 'output' };

  it.each([
    [{ raiMediaFilteredCount: 1 }],
    [{ response: { raiMediaFilteredCount: 2 } }],
    [{ has_nsfw_contents: [false, true] }],
    [{ nsfw_content_detected: true }],
    [{ respect_moderation: false }],
    [{ video: { respect_moderation: false } }],
  ])('is marked by %j', (flag) => {
    expect(refusedIn(flag)).toEqual(WITHHELD);
  });

  it.each([
    [{ raiMediaFilteredReasons: [] }],
    [{ raiMediaFilteredReasons: [''] }],
    [{ raiMediaFilteredReasons: ['  '] }],
    [{ raiMediaFilteredReasons: [5, null] }],
    [{ raiMediaFilteredCount: 0 }],
    [{ raiMediaFilteredCount: '1' }],
    [{ raiMediaFilteredCount: true }],
    [{ has_nsfw_contents: [false] }],
    [{ has_nsfw_contents: ['no', 1, null] }],
    [{ respect_moderation: true }],
    [{ respect_moderation: null }],
    [{ respect_moderation: 0 }],
  ])('is not marked by %j', (flag) => {
    expect(refusedIn(flag)).toBeUndefined();
  });

  it('has the reason as its message, unless the answer has one', () => {
    const messageOf = (body: object) =>
      traceAnswer({ status: 200, body: JSON.stringify(body) }).serviceMessage.message;
    const flag = { raiMediaFilteredReasons: ['Withheld.'] };
    expect(refusedIn(flag)).toEqual(WITHHELD);
    expect(messageOf(flag)).toBe('Withheld.');
    expect(messageOf({ response: { generateVideoResponse: flag } })).toBe('Withheld.');
    expect(messageOf({ ...flag, message: 'Sorry.' })).toBe('Sorry.');
    expect(messageOf({ raiMediaFilteredReasons: ['x'.repeat(1_500)] })).toHaveLength(1_000);
  });
});

describe('a state means a refusal', () => {
  it.each([
    ['nsfw', {}],
    ['Request Moderated', {}],
    ['content_moderated', { stage: 'output' }],
  ])('%s', (status, refused) => {
    const { refusedContent } = traceAnswer({ status: 200, body: JSON.stringify({ status }) });
    expect(refusedContent).toEqual({ isCertain: true, ...refused });
  });
});

describe('a code means a refusal', () => {
  it('at any place where services have codes, and is returned, cut', () => {
    const reason = `safety_input_text_${'x'.repeat(200)}`;
    expect(refusedIn({ reason })).toEqual({
      isCertain: true,
      stage: 'prompt',
      field: 'prompt',
      code: reason.slice(0, 100),
    });
  });
});

describe('a rule of the profile', () => {
  const ruled = (rule: object, body: object, read?: ServiceProfile['read']) =>
    refusedIn(body, { profile: { refusals: { content: [rule] }, ...(read && { read }) } });

  it('may name several codes, of which one is enough', () => {
    expect(ruled({ codes: ['a', 'b'] }, error('no', { code: 'b' }))).toEqual({ isCertain: true });
    expect(ruled({ codes: ['a', 'b'] }, error('no', { code: 'c' }))).toBeUndefined();
  });

  it('may name the beginning of codes', () => {
    expect(ruled({ codes: ['FOX.*'] }, error('no', { code: 'FOX.' }))).toBeDefined();
    expect(ruled({ codes: ['FOX.*'] }, error('no', { code: 'FAR.7' }))).toBeUndefined();
  });

  it('finds the code where the profile says that it is', () => {
    expect(ruled({ codes: ['fox'] }, { e: { c: 'fox' } }, { code: 'e.c' })).toBeDefined();
    expect(ruled({ codes: ['fox'] }, { e: { c: 'fox' } })).toBeUndefined();
  });

  it('may name words of the message, in small or capital letters', () => {
    const rule = { says: 'House Rules' };
    expect(ruled(rule, error('against the HOUSE rules'))).toBeDefined();
    expect(ruled(rule, error('against the rules'))).toBeUndefined();
    expect(ruled({ codes: ['E1'], ...rule }, error('against the rules'))).toBeUndefined();
  });
});

describe('the field of the request that was refused', () => {
  const POLICY = 'this was blocked by the content policy';

  it.each<[more: object, refused: object | undefined]>([
    [{ param: 'prompt' }, { stage: 'prompt', field: 'prompt' }],
    [{ param: 'negative_prompt' }, { stage: 'prompt', field: 'prompt' }],
    [{ param: 'first_frame' }, { stage: 'image', field: 'image_url' }],
    [{ param: 'seed' }, undefined],
    [{ param: 'seed', code: 'content_policy_violation' }, {}],
    [
      { param: 'image_url', code: 'prompt_blocked' },
      { stage: 'prompt', field: 'prompt' },
    ],
    [{ param: 'prompt', code: 'output_blocked' }, { stage: 'output' }],
  ])('follows from %j', (more, refused) => {
    const { isCertain: _, code: __, ...read } = refusedIn(error(POLICY, more), { request: IMAGE }) ?? {};
    expect(read).toEqual(refused ?? {});
  });

  it.each([
    [['body', 'prompt'], 'prompt'],
    [['body', 'prompt', 0], 'prompt'],
    [['body', 'prompt', null], 'prompt'],
    [['body'], undefined],
    [[null], undefined],
  ])('follows from the last name of the path %j', (loc, field) => {
    const body = { detail: [{ loc, msg: 'no', type: 'content_policy_violation' }] };
    expect(refusedIn(body, { request: IMAGE })?.field).toBe(field);
  });
});

describe('words that the service only quotes mean nothing', () => {
  it.each([
    ['a link', 'cannot fetch http://cdn.example.com/nsfw/detected/1', 'A fox'],
    ['an encrypted link', 'cannot fetch https://cdn.example.com/nsfw/detected/1', 'A fox'],
    [
      'a prompt with other spaces',
      '"content policy violation, nsfw content detected" is too long',
      '  content   policy\n\nviolation,  nsfw   content detected ',
    ],
    ['a short prompt with spaces around it', '"nsfw detected" is too long', ' nsfw detected '],
    ['a prompt of three characters', '无法解析：敏感词', '敏感词'],
    ['the beginning of a prompt', 'cannot parse nsfw content detected…', 'nsfw content detected in a sign'],
    [
      'the middle of a prompt',
      'cannot parse …says nsfw content detected',
      'A sign says nsfw content detected',
    ],
  ])('%s', (_what, message, prompt) => {
    expect(refusedIn(error(message), { request: { prompt } })).toBeUndefined();
  });

  it.each([
    ['a letter of it is the prompt', 'the prompt violates the content policy', 'a'],
    ['there is no prompt', 'the prompt violates the content policy', ''],
    [
      'a few of them are in the middle of the prompt',
      'this violates the content policy',
      'A poster about the content policy of a library',
    ],
    ['they stand beside a link', 'see https://example.com/x and blocked by moderation', 'A fox'],
  ])('but they are its own when %s', (_when, message, prompt) => {
    expect(refusedIn(error(message), { request: { prompt } })).toMatchObject({ stage: 'prompt' });
  });
});
