import { StorageFault } from '../../src/storage';
import { createS3Client, loadS3Sdk } from '../../src/storage/s3-client';
import { presignGet } from '../../src/storage/s3-presign';

it.each(['@aws-sdk/client-s3', '@aws-sdk/lib-storage'])(
  'without %s the error says what to install',
  async (missing) => {
    jest.doMock(missing, () => {
      throw Object.assign(new Error(`Cannot find module '${missing}'`), { code: 'MODULE_NOT_FOUND' });
    });
    try {
      const loading = loadS3Sdk();
      await expect(loading).rejects.toThrow(StorageFault);
      await expect(loading).rejects.toThrow(
        'the AWS SDK, which stores videos in S3, is not installed: run `npm install @aws-sdk/client-s3 @aws-sdk/lib-storage`',
      );
      await expect(loading).rejects.toMatchObject({ cause: { code: 'MODULE_NOT_FOUND' } });
    } finally {
      jest.dontMock(missing);
    }
  },
);

it('an SDK that cannot be loaded for another reason says that reason', async () => {
  jest.doMock('@aws-sdk/lib-storage', () => {
    throw new SyntaxError('Unexpected token');
  });
  try {
    await expect(loadS3Sdk()).rejects.toThrow('Unexpected token');
  } finally {
    jest.dontMock('@aws-sdk/lib-storage');
  }
});

const CREDENTIALS = { accessKeyId: 'tester', secretAccessKey: 'short' };
const VALIDITY = { from: new Date(Date.UTC(2026, 10, 16)), seconds: 60 };
const FOX = { Bucket: 'videos', Key: 'a fox.mp4' };

it.each([
  [undefined, true, 'https://s3.eu-central-1.amazonaws.com/videos/a%20fox.mp4?'],
  [undefined, undefined, 'https://videos.s3.eu-central-1.amazonaws.com/a%20fox.mp4?'],
  ['http://127.0.0.1:9000', true, 'http://127.0.0.1:9000/videos/a%20fox.mp4?'],
])('a link has the address that the client would call: %s', async (endpoint, pathStyle, start) => {
  const sdk = await loadS3Sdk();
  const client = createS3Client(sdk, {
    endpoint,
    pathStyle,
    region: 'eu-central-1',
    credentials: CREDENTIALS,
  });
  const link = new URL(await presignGet(client, new sdk.GetObjectCommand(FOX), VALIDITY));
  expect(link.href.startsWith(start)).toBe(true);
  const { searchParams } = link;
  expect(searchParams.get('X-Amz-Date')).toBe('20261116T000000Z');
  expect(searchParams.get('X-Amz-Expires')).toBe('60');
  // Whoever follows the link sends no other header.
  expect(searchParams.get('X-Amz-SignedHeaders')).toBe('host');
  expect(searchParams.has('x-id')).toBe(false);
});

it.each([
  ['a signer', {}],
  ['a signer that works', { presign: 'no' }],
])('an SDK without %s for links says that it makes none', async (_, more) => {
  const sdk = await loadS3Sdk();
  const client = createS3Client(sdk, { region: 'eu-central-1', credentials: CREDENTIALS });
  client.config.signer = async () => ({ sign: async (request) => request, ...more });
  const linking = presignGet(client, new sdk.GetObjectCommand(FOX), VALIDITY);
  await expect(linking).rejects.toThrow('the AWS SDK makes no links');
});

it.each([
  ['nothing', undefined],
  ['null', null],
  ['a text', 'GET /'],
  ['no headers', { hostname: 'x' }],
  ['no host', { headers: {} }],
])('an SDK whose request is %s makes no links either', async (_, request) => {
  const sdk = await loadS3Sdk();
  const client = createS3Client(sdk, { region: 'eu-central-1', credentials: CREDENTIALS });
  const command = new sdk.GetObjectCommand(FOX);
  command.middlewareStack.add((next) => (call) => next({ ...call, request }), {
    step: 'build',
    priority: 'low',
  });
  await expect(presignGet(client, command, VALIDITY)).rejects.toThrow('the AWS SDK makes no links');
});

it('a server that is silent is given up, but not one that completes a large upload', async () => {
  const sdk = await loadS3Sdk();
  const client = createS3Client(sdk, { region: 'eu-central-1', credentials: CREDENTIALS });
  // The handler reads its settings at its first call, which is over before it is sent.
  const aborted = client.send(new sdk.GetObjectCommand(FOX), { abortSignal: AbortSignal.abort() });
  await expect(aborted).rejects.toThrow();
  expect(client.config.requestHandler).toMatchObject({
    config: { connectionTimeout: 10_000, socketTimeout: 300_000 },
  });
});

describe('an error of the SDK', () => {
  const errorOf = async (thrown: unknown, credentials: object = CREDENTIALS) => {
    const sdk = await loadS3Sdk();
    const connection = { region: 'eu-central-1', credentials: { ...CREDENTIALS, ...credentials } };
    const client = createS3Client(sdk, connection);
    client.middlewareStack.add(() => () => Promise.reject(thrown), {
      step: 'initialize',
      priority: 'high',
    });
    return client.send(new sdk.GetObjectCommand(FOX)).catch((error: unknown) => error);
  };
  const messageOf = async (message: string, credentials: object) =>
    Reflect.get(Object(await errorOf(new Error(message), credentials)), 'message');

  it.each([['a text'], [null], [undefined], [{ message: 7 }]])('may be %j', async (thrown) => {
    expect(await errorOf(thrown)).toEqual(thrown);
  });

  it('hides a short key as a whole, and none of less than five letters', async () => {
    const short = { secretAccessKey: 'test', accessKeyId: 'admin' };
    expect(await messageOf('the latest test of admin', short)).toBe('the latest test of …');
  });

  it('hides a key of eight characters however it is encoded', async () => {
    const secretAccessKey = 'k7MDENGb';
    const encoded = Buffer.from(secretAccessKey).toString('base64');
    for (const quoted of [secretAccessKey, encoded, encodeURIComponent(encoded)])
      expect(await messageOf(`no, ${quoted}`, { secretAccessKey })).not.toContain(quoted);
  });

  it('is told when there are no credentials to hide', async () => {
    const sdk = await loadS3Sdk();
    const client = createS3Client(sdk, { region: 'eu-central-1', credentials: CREDENTIALS });
    client.config.credentials = () => Promise.reject(new Error('no credentials'));
    await expect(client.send(new sdk.GetObjectCommand(FOX))).rejects.toThrow('no credentials');
  });
});
