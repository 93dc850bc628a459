import { prepareCall, readScope } from '../../src/ai-sdk/prepare-call';
import type { AiSdkCallOptions } from '../../src/ai-sdk/video-model-types';
import { callOf } from './model-call';

const preparedOf = (call: AiSdkCallOptions & { webhookUrl?: string }, defaults = {}) =>
  prepareCall(call, defaults, readScope());
const prepared = (given: Partial<AiSdkCallOptions> & { webhookUrl?: string } = {}, defaults = {}) =>
  preparedOf(callOf(given), defaults);
const withOptions = (videogen: object, given: Partial<AiSdkCallOptions> = {}) =>
  prepared({ ...given, providerOptions: { videogen } });

describe('the name of a call', () => {
  test('is the same for the same call, however its options are written down', () => {
    const options = {
      deadline: '2h',
      polling: { min: '1s', max: '5s' },
      request: { style: 'noir', mood: 'dark' },
    };
    const otherwise = {
      request: { mood: 'dark', style: 'noir' },
      polling: { max: '5s', min: '1s' },
      deadline: '2h',
    };
    expect(withOptions(otherwise, { seed: 7 }).names).toEqual(withOptions(options, { seed: 7 }).names);
  });

  test('stays the same in every release, so that a call that is repeated after an update pays once', () => {
    expect(withOptions({ deadline: '2h' }, { duration: 5, resolution: '1280x720' }).names).toEqual([
      'ai-sdk-dce4259036c224036d6aca1256491d5c',
    ]);
  });

  test.each<[string, Partial<AiSdkCallOptions>]>([
    ['prompt', { prompt: 'A grey fox' }],
    ['seed', { seed: 1 }],
    ['option of the job', { providerOptions: { videogen: { storage: 'foxes/' } } }],
    ['field for the service', { providerOptions: { videogen: { request: { style: 'noir' } } } }],
    ['caller', { providerOptions: { videogen: { caller: 'web_shop' } } }],
  ])('differs with another %s', (_what, given) => {
    expect(prepared(given).names).not.toEqual(prepared().names);
  });

  test('ignores what the options of other providers say, and the key that ai makes anew for each start', () => {
    const providerOptions = { fal: { loop: true } };
    expect(prepared({ providerOptions }).names).toEqual(prepared().names);
    const headers = { 'idempotency-key': 'aisdk_vid_f3Xk9', 'user-agent': 'ai/7' };
    expect(prepared({ headers }).names).toEqual(prepared().names);
  });

  test('is the name that the caller gives, or made of an Idempotency-Key of the caller alone', () => {
    expect(withOptions({ name: 'fox-1' }).names).toEqual(['ai-sdk-fox-1']);
    const keyed = (key: string, given = {}) =>
      prepared({ headers: { 'Idempotency-Key': key }, ...given }).names;
    expect(keyed('order-17')).toEqual(
      keyed('order-17', { providerOptions: { videogen: { deadline: '2h' } } }),
    );
    expect(keyed('order-17')).not.toEqual(keyed('order-18'));
    expect(keyed('')).toEqual(prepared().names);
  });

  test('begins with the scope of the model, also if the caller gives it', () => {
    const named = (name?: string) =>
      prepareCall(
        callOf({ providerOptions: { videogen: { ...(name && { name }) } } }),
        {},
        readScope('shop-'),
      ).names;
    expect(named()).toEqual(prepared().names.map((name) => name.replace(/^ai-sdk-/, 'shop-')));
    expect(named('order-17')).toEqual(['shop-order-17']);
    expect(named('shop-order-17')).toEqual(['shop-order-17']);
    expect(() => readScope('')).toThrow(/scope must be text of 1 to 100 characters/);
  });

  test('is new with fresh for each call, and the same when ai repeats one', () => {
    const options = { providerOptions: { videogen: { fresh: true } } };
    const call = callOf(options);
    const [first] = preparedOf(call).names;
    expect(preparedOf(call).names).toEqual([first]);
    expect(preparedOf(callOf(options)).names).not.toEqual([first]);
    const started = { ...options, headers: { 'idempotency-key': 'aisdk_vid_1' } };
    expect(prepared(started).names).toEqual(prepared({ ...started }).names);
  });
});

describe('options', () => {
  test('of a call go before those of the model, and fields for the service are put together', () => {
    const defaults = { deadline: '1h', holdFor: '30d', request: { style: 'noir', mood: 'dark' } };
    const providerOptions = { videogen: { deadline: '2h', request: { mood: 'bright' } } };
    expect(prepared({ providerOptions }, defaults).input).toEqual({
      request: { prompt: 'A red fox', style: 'noir', mood: 'bright' },
      deadline: '2h',
      holdFor: '30d',
    });
  });

  test('the URL that experimental_startVideo is given is called back', () => {
    const { input } = prepared({ webhookUrl: 'https://example.com/done' });
    expect(input.callbackUrl).toBe('https://example.com/done');
  });

  test.each<[object, RegExp]>([
    [
      { deadlin: '2h' },
      /"deadlin": not a field of providerOptions[.]videogen; the fields are name, fresh, .*deadline/,
    ],
    [{ deadline: 'soon' }, /deadline must be milliseconds or a duration/],
    [{ taskId: 'task_1' }, /"taskId": not a field/],
    [{ fresh: 'yes' }, /fresh must be true or false/],
    [{ name: 7 }, /name must be text/],
    [{ request: ['noir'] }, /request must be an object/],
    [{ name: 'fox', fresh: true }, /either name or fresh/],
    [['fresh'], /providerOptions[.]videogen must be an object/],
  ])('%j are refused', (videogen, sentence) => {
    expect(() => withOptions(videogen)).toThrow(sentence);
  });

  test('of the model are checked too, and the sentence says where they are', () => {
    expect(() => prepared({}, { deadlin: '2h' })).toThrow(
      /"deadlin": not a field of the option job of videoModel/,
    );
    expect(() => prepared({}, { name: 'fox' })).toThrow(
      /"name": not a field of the option job of videoModel/,
    );
  });
});

describe('several videos', () => {
  test('are jobs of their own, and the first is that of a call for one', () => {
    const [first] = prepared().names;
    expect(prepared({ n: 3 }).names).toEqual([first, `${first}-2`, `${first}-3`]);
  });

  test('whose names would be too long are refused before the first of them is paid for', () => {
    const name = `ai-sdk-${'x'.repeat(992)}`;
    expect(withOptions({ name }).names).toEqual([name]);
    expect(() => withOptions({ name }, { n: 2 })).toThrow(/n is 2: the names of the others would be/);
  });

  test.each<[Partial<AiSdkCallOptions>, object, RegExp]>([
    [{ n: 11 }, {}, /n must be a whole number from 1 to 10: start a batch/],
    [{ n: 0 }, {}, /n must be a whole number/],
    [{ n: 1.5 }, {}, /n must be a whole number/],
    [{ n: 2, seed: 7 }, {}, /n is 2: with one seed each video would be the same/],
    [{ n: 2 }, { storage: 'fox.mp4' }, /n is 2: storage must end with/],
    [{ n: 2 }, { idempotencyKey: 'k' }, /n is 2: idempotencyKey is for a single video/],
  ])('%j with %j are refused before anything is paid for', (given, videogen, sentence) => {
    expect(() => withOptions(videogen, given)).toThrow(sentence);
  });
});

test.each<[Partial<AiSdkCallOptions>, RegExp]>([
  [{ prompt: undefined }, /prompt is missing/],
  [{ duration: 12 }, /duration must be at most 10/],
  [{ seed: 1.5 }, /seed must be a whole number/],
])('%j breaks a rule of the request and is refused', (given, sentence) => {
  expect(() => prepared(given)).toThrow(sentence);
});
