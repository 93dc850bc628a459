import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { inspect } from 'node:util';
import { createS3Storage, StorageFault, type VideoStorage } from '../../src/storage';
import { freePort, LOOPBACK } from '../../src/temporal-server/loopback-port';
import { store, VIDEO } from './storage-contract';

const CREDENTIALS = {
  accessKeyId: 'AKIDEXAMPLE000000001',
  secretAccessKey: 'wJalrXUtnFEMI-K7MDENG-bPxRfiCYEXAMPLEKEY',
  sessionToken: 'FwoGZXIvYXdzEBYaDExampleSessionToken0123456789',
};

const THREE_MB = 3_000_000;
const refusal = (message: string, more = '') =>
  `<Error><Code>AccessDenied</Code><Message>${message}</Message>${more}</Error>`;

function storageAt(port: number): VideoStorage {
  return createS3Storage({
    bucket: 'videos',
    endpoint: `http://${LOOPBACK}:${port}`,
    region: 'us-east-1',
    pathStyle: true,
    credentials: { ...CREDENTIALS },
  });
}

/** The error of a storage whose server refuses everything with this body. */
async function errorFrom(
  bodyFor: (request: IncomingMessage) => string,
  work: (storage: VideoStorage) => Promise<unknown>,
): Promise<unknown> {
  const server = createServer((request, answer) => {
    request.resume();
    answer.writeHead(403, { 'content-type': 'application/xml' }).end(bodyFor(request));
  });
  const port = await freePort();
  server.listen(port, LOOPBACK);
  await once(server, 'listening');
  try {
    return await work(storageAt(port)).then(
      () => undefined,
      (error: unknown) => error,
    );
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

const WORK: Record<string, (storage: VideoStorage) => Promise<unknown>> = {
  write: (storage) => storage.write('a', 'b', 'text/plain'),
  read: (storage) => storage.read('a'),
  publish: (storage) => store(storage, 'a.mp4', VIDEO.subarray(0, 5)),
  probe: async (storage) => storage.probe?.(),
};

it('a file that somebody else has just removed counts as removed', async () => {
  const gone = () =>
    '<Error><Code>NoSuchKey</Code><Message>The specified key does not exist.</Message></Error>';
  expect(await errorFrom(gone, async (storage) => storage.removeKey?.('a'))).toBeUndefined();
  const denied = () => refusal('no');
  expect(await errorFrom(denied, async (storage) => storage.removeKey?.('a'))).toBeInstanceOf(StorageFault);
});

/** What becomes of work that a server never answers, when the time limit of a call is over. */
async function afterItsLimit(
  work: (storage: VideoStorage) => Promise<unknown> | undefined,
): Promise<unknown> {
  const limit = new AbortController();
  const timeout = jest.spyOn(AbortSignal, 'timeout').mockReturnValue(limit.signal);
  const server = createServer();
  const port = await freePort();
  server.listen(port, LOOPBACK);
  await once(server, 'listening');
  try {
    const asked = once(server, 'request');
    const working = work(storageAt(port))?.catch((error: unknown) => error);
    await asked;
    expect(timeout.mock.calls).toEqual([[60_000]]);
    limit.abort();
    return await working;
  } finally {
    timeout.mockRestore();
    server.closeAllConnections();
    server.close();
  }
}

it('a write that the server never answers ends by itself', async () => {
  const fault = await afterItsLimit((storage) => storage.write('a', 'b', 'text/plain'));
  expect(fault).toBeInstanceOf(StorageFault);
});

it('a removal that the server never answers ends by itself too', async () => {
  const fault = await afterItsLimit((storage) => storage.removeKey?.('a'));
  expect(fault).toBeInstanceOf(StorageFault);
});

describe.each(Object.entries(WORK))('the error of an S3 server to a %s', (_name, work) => {
  it('is redacted when it quotes the credentials', async () => {
    const error = await errorFrom(({ headers }) => {
      const quoted = `${headers['x-amz-security-token']} of ${CREDENTIALS.accessKeyId}, ${CREDENTIALS.secretAccessKey}`;
      return refusal(`no, ${quoted}`, `<Token>${quoted}</Token>`);
    }, work);
    expect(error).toMatchObject({ message: expect.stringContaining('AccessDenied: no, …') });
    const all = inspect(error, { depth: 10, showHidden: true });
    for (const secret of Object.values(CREDENTIALS)) expect(all).not.toContain(secret);
  });

  it('is cut, and has nothing longer attached', async () => {
    const error = await errorFrom(() => refusal('x'.repeat(THREE_MB)), work);
    expect(error).toMatchObject({ message: expect.stringContaining('AccessDenied: xxx') });
    expect(inspect(error, { depth: 10, showHidden: true, maxStringLength: null }).length).toBeLessThan(
      10_000,
    );
  });
});
