import { type Dispatcher, request } from 'undici';
import type { Emulator } from '../../src/emulator';
import { eventually } from '../temporal-server/eventually';

export const FOX = { prompt: 'A red fox' };

export interface Answered {
  status: number;
  headers: Dispatcher.ResponseData['headers'];
  body: unknown;
}

/** The calls of the interface, by a client that knows nothing of the emulator but its address and key. */
export function serviceClient({ url, apiKey }: Pick<Emulator, 'url' | 'apiKey'>) {
  const call = async (
    method: Dispatcher.HttpMethod,
    path: string,
    options: { headers?: Record<string, string>; body?: string } = {},
  ): Promise<Answered> => {
    const headers = { authorization: `Bearer ${apiKey}`, ...options.headers };
    const {
      statusCode,
      headers: answered,
      body,
    } = await request(url + path, { ...options, method, headers });
    return { status: statusCode, headers: answered, body: await body.json() };
  };
  return {
    submit: (wanted: object = FOX, idempotencyKey?: string) =>
      call('POST', '/v1/videos/text-to-video', {
        headers: idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey },
        body: JSON.stringify(wanted),
      }),
    look: (taskId: string) => call('GET', `/v1/videos/${taskId}`),
    cancel: (taskId: string, headers?: Record<string, string>) =>
      call('DELETE', `/v1/videos/${taskId}`, { headers }),
  };
}

/** A clock that has to be asked for, such as Temporal's: all who ask get their answer when so many calls have come. */
export function clockForAllAtOnce(count: number, calls: () => readonly unknown[], nowMs: number) {
  let told: Promise<void> | undefined;
  return async () => {
    told ??= eventually('all calls have come', () => calls().length === count);
    await told;
    return nowMs;
  };
}

export const taskIdOf = ({ body }: Answered): string => Reflect.get(Object(body), 'task_id');
