import { type Dispatcher, request } from 'undici';
import type { Emulator } from '../../src/testing';
import { eventually } from '../temporal-server/eventually';

export const FOX = { prompt: 'A red fox' };

export interface Answer {
  status: number;
  headers: Dispatcher.ResponseData['headers'];
  body: unknown;
}

/** A client of the interface that knows only the URL and the key of the service. */
export function serviceClient({ url, apiKey }: Pick<Emulator, 'url' | 'apiKey'>) {
  const call = async (
    method: Dispatcher.HttpMethod,
    path: string,
    options: { headers?: Record<string, string>; body?: string } = {},
  ): Promise<Answer> => {
    const headers = { authorization: `Bearer ${apiKey}`, ...options.headers };
    const answer = await request(url + path, { ...options, method, headers });
    return { status: answer.statusCode, headers: answer.headers, body: await answer.body.json() };
  };
  return {
    submit: (body: object = FOX, idempotencyKey?: string) =>
      call('POST', '/v1/videos/text-to-video', {
        headers: idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey },
        body: JSON.stringify(body),
      }),
    poll: (taskId: string) => call('GET', `/v1/videos/${taskId}`),
    cancel: (taskId: string, headers?: Record<string, string>) =>
      call('DELETE', `/v1/videos/${taskId}`, { headers }),
  };
}

/** An asynchronous clock, such as Temporal's, that gives the time only after `count` calls have come. */
export function clockAfterCalls(count: number, calls: () => readonly unknown[], nowMs: number) {
  let allCame: Promise<void> | undefined;
  return async () => {
    allCame ??= eventually('all calls have come', () => calls().length === count);
    await allCame;
    return nowMs;
  };
}

export const taskIdOf = ({ body }: Answer): string => Reflect.get(Object(body), 'task_id');
