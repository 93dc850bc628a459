import type { Socket } from 'node:net';
import {
  createVideoService,
  type OpenedVideoService,
  ServiceFault,
  type VideoService,
  type VideoServiceOptions,
} from '../../src/service';
import { type RawRequest, type RawServer, reply, startRawServer } from './raw-server';

/** Servers with answers of any bytes and clients of them, until the end of a test. */

export const KEY = 'sk-secret-0123456789';
export const VIDEO = 'the bytes of a video';

const opened: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one.close();
});

export function closeAfterTest<One extends { close(): Promise<void> }>(one: One): One {
  opened.push(one);
  return one;
}

export async function serve(
  answer?: (request: RawRequest) => void,
  onConnection?: (socket: Socket) => void,
): Promise<RawServer> {
  return closeAfterTest(await startRawServer(answer, onConnection));
}

export function connect(baseUrl: string, options: Partial<VideoServiceOptions> = {}): OpenedVideoService {
  return closeAfterTest(createVideoService({ baseUrl, apiKey: () => KEY, ...options }));
}

/** The base URL of a service that is not on this machine, of which nothing is asked. */
export const ELSEWHERE = 'https://api.example.com';

export const submit = (
  service: VideoService,
  request: Parameters<VideoService['start']>[0] = { prompt: 'x' },
) => service.start(request, { idempotencyKey: 'k' });

export async function faultOf(call: Promise<unknown>): Promise<ServiceFault> {
  const outcome: unknown = await call.catch((error: unknown) => error);
  if (outcome instanceof ServiceFault) return outcome;
  throw new Error('expected a ServiceFault', { cause: outcome });
}

export const sendVideo = (request: RawRequest) =>
  reply(request, { headers: { 'content-type': 'video/mp4' }, body: VIDEO });

export const redirectTo = (location: string) => (request: RawRequest) =>
  reply(request, { status: 302, headers: { location }, body: 'moved' });

export const linesOf = ({ requests }: RawServer) => requests.map(({ line }) => line);
