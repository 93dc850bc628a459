import { type Dispatcher, request } from 'undici';
import type { Emulator, EmulatorOptions } from '../../src/testing';
import { startEmulator } from '../../src/testing/emulator';

export const FOX = { prompt: 'A red fox' };
export const TEXT = '/v1/videos/text-to-video';

/** The clock of the emulators of a test. */
export const clock = { nowMs: 0 };
const opened: Emulator[] = [];
beforeEach(() => {
  clock.nowMs = 0;
});
afterEach(async () => {
  await Promise.all(opened.splice(0).map((one) => one.close()));
});

/**
 * An emulator until the end of the test, whose tasks take a second, and a client of it. Its clock is asynchronous, as
 * Temporal's may be.
 */
export async function start(options: EmulatorOptions = {}) {
  const emulator: Emulator = await startEmulator({
    jobTimeMs: 1_000,
    videoBytes: 10_000,
    clock: async () => clock.nowMs,
    ...options,
  });
  opened.push(emulator);
  return { emulator, ...serviceClient(emulator) };
}

export interface Answer {
  status: number;
  headers: Dispatcher.ResponseData['headers'];
  body: unknown;
}

type Ask = { headers?: Record<string, string>; body?: string };

/** A client of the interface that knows only the URL and the key of the service. */
export function serviceClient({ url, apiKey }: Pick<Emulator, 'url' | 'apiKey'>) {
  const ask = async (method: Dispatcher.HttpMethod, path: string, options: Ask = {}): Promise<Answer> => {
    const headers = { authorization: `Bearer ${apiKey}`, ...options.headers };
    const answer = await request(url + path, { ...options, method, headers });
    return { status: answer.statusCode, headers: answer.headers, body: await answer.body.json() };
  };
  const submit = (body: object = FOX, idempotencyKey?: string) =>
    ask('POST', 'image_url' in body ? '/v1/videos/image-to-video' : TEXT, {
      headers: {
        'content-type': 'application/json',
        ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
      },
      body: JSON.stringify(body),
    });
  const poll = (taskId: string) => ask('GET', `/v1/videos/${taskId}`);
  const makeTask = async (body?: object) => taskIdOf(await submit(body));
  return {
    ask,
    submit,
    poll,
    viewOf: async (taskId: string) => (await poll(taskId)).body,
    cancel: (taskId: string) => ask('DELETE', `/v1/videos/${taskId}`),
    makeTask,
    /** The link to a new video. */
    async makeLink(body?: object): Promise<string> {
      const taskId = await makeTask(body);
      clock.nowMs += 1_000;
      return Reflect.get(Object((await poll(taskId)).body), 'video_url');
    },
  };
}

export const taskIdOf = ({ body }: Answer): string => Reflect.get(Object(body), 'task_id');

/** A file, read to its end: a connection with something still on it stays. */
export async function fetchFile(link: string, init?: RequestInit) {
  const response = await fetch(link, init);
  return {
    status: response.status,
    header: (name: string) => response.headers.get(name),
    bytes: Buffer.from(await response.arrayBuffer()),
  };
}
