import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parseRequest } from '../contract/request';
import { answerWith, type EmulatedAnswer, send } from './answers';
import { CANCELLING, type Dialect, type DialectRoute, INTERFACE } from './dialect';
import { EmulatedService, idIn, invalid, refuse } from './emulated-service';
import type { EmulatorOptions, RecordedCall } from './emulator-options';
import { type EmulatedCall, FaultSource, type Faults } from './faults';
import type { EmulatedTask } from './task-store';

/** A running emulator: its address, the calls it received, and the faults to come. */
export interface Emulator {
  url: string;
  apiKey: string;
  /** A secret in every link, so that tests can search for links where none may appear. */
  linkSignature: string;
  /** All calls so far, in order. */
  calls: readonly RecordedCall[];
  /** The generations that a user would have paid for. */
  generations(): EmulatedTask[];
  /** When a task ended or will end, by the emulator's clock: it succeeds, fails or is cancelled. */
  endOf(task: EmulatedTask): number;
  /** The id of a task in answers and paths. In some dialects it differs from `taskId`. */
  idOf(task: EmulatedTask): string;
  /** The bytes of a task's video. Takes `taskId` or the id from `idOf`. */
  video(taskId: string): Promise<Buffer>;
  /** Scripts faults for the next calls of a kind, in order. */
  next<Call extends EmulatedCall>(call: Call, ...faults: Faults[Call][]): void;
  /** True when every scripted fault has happened. */
  scriptIsSpent(): boolean;
  close(): Promise<void>;
}

const LOOPBACK = '127.0.0.1';
const MAX_REQUEST_BYTES = 2 * 1024 * 1024;
const DEFAULT_JOB_TIME_MS = 5_000;

/** The file behind a link. It needs no API key, since the link is signed. */
const FILE: DialectRoute = { method: 'GET', path: /^\/files\/([^/]+)\.mp4$/, call: 'download' };
/** A file server answers with plain HTTP statuses, even if the service puts errors under HTTP 200. */
const LINK_REFUSED = answerWith(403, { error: { code: 'forbidden', message: 'the link is not valid' } });

/** How long an emulator's tasks take, as a profile says it: all equally long. */
export function emulatedTimes(jobTimeMs = DEFAULT_JOB_TIME_MS): { median: number; slow: number } {
  const timeMs = Math.max(jobTimeMs, 1);
  return { median: timeMs, slow: timeMs };
}

/**
 * Starts the video service on your own machine, with its whole interface and faults on demand.
 *
 * @example
 * ```ts
 * const emulator = await startEmulator({ jobTimeMs: 1_000 });
 * const service = createVideoService({ baseUrl: emulator.url, apiKey: () => emulator.apiKey });
 * await emulator.close();
 * ```
 */
export async function startEmulator(options: EmulatorOptions = {}): Promise<Emulator> {
  const { host = LOOPBACK, port = 0, apiKey = 'emulator-key', dialect = INTERFACE } = options;
  const { jobTimeMs = DEFAULT_JOB_TIME_MS, clock = Date.now } = options;
  const service = new EmulatedService({ ...options, jobTimeMs, clock, dialect });
  const { store, signature } = service;
  const faults = new FaultSource(options.chaos);
  const calls: RecordedCall[] = [];
  const routes = [FILE, ...dialect.routes, ...(options.cancelling ? [CANCELLING] : [])];

  const taskBy = (ids: Pick<Dialect, 'idOf'>, id: string): EmulatedTask | undefined =>
    [...store.tasks.values()].find((task) => idIn(ids, task) === id);

  const answer = async (request: IncomingMessage, record: RecordedCall): Promise<EmulatedAnswer> => {
    const { method, headers, url: target = '' } = request;
    const { path } = record;
    const query = new URLSearchParams(target.slice(path.length));
    const route = routes.find(
      (one) =>
        one.path.test(path) && (method === one.method || (method === 'HEAD' && one.call === 'download')),
    );
    const { body, problem } = await readBody(request);
    const { keyIn = bearerIn } = route ?? {};
    const authorized = keyIn(headers) === apiKey;
    Object.assign(record, { call: route?.call ?? 'other', authorized, body, atMs: Date.now() });
    calls.push(record);

    const refused = (status: number, code: string, message: string) =>
      refuse(dialect, { status, code, message });
    if (!authorized && route !== FILE) {
      return refused(401, 'unauthorized', 'the API key is missing or invalid');
    }
    if (route === undefined) return refused(404, 'not_found', `no such operation: ${method} ${path}`);
    if (problem !== undefined) return refuse(dialect, invalid(problem));
    // Links use the host by which the caller reached us: in a container network it differs from ours.
    const origin = headers.host === undefined ? url : `http://${headers.host}`;
    if (route.call === 'submit') {
      const parsed = (route.read ?? parseRequest)(body);
      if (!parsed.ok) return refuse(dialect, invalid(parsed.problem));
      const { idempotencyKey } = record;
      return service.submit(origin, { request: parsed.request, idempotencyKey }, faults.take('submit'));
    }
    const inPath = decodeURIComponent(route.path.exec(path)?.[1] ?? '');
    const id = route.idIn === undefined ? inPath : (query.get(route.idIn) ?? '');
    if (route === FILE && query.get('signature') !== signature) return LINK_REFUSED;
    // Links have the emulator's own id.
    const task = taskBy(route === FILE ? {} : route.idOf ? route : dialect, id);
    if (!task) return route === FILE ? LINK_REFUSED : refused(404, 'not_found', 'no such task');
    // Range applies to GET alone. Node sends no body in answer to HEAD.
    return service.callAbout(origin, task, route, method === 'GET' ? headers : {}, faults.take(route.call));
  };

  const server = createServer(async (request, response) => {
    const { method = '', headers } = request;
    const record: RecordedCall = {
      call: 'other',
      method,
      path: request.url?.split('?')[0] ?? '',
      authorized: false,
      // An empty key counts as none, or all callers would share it.
      idempotencyKey: headers['idempotency-key']?.toString() || undefined,
      contentType: headers['content-type'],
      range: headers.range,
      atMs: Date.now(),
    };
    // Most likely the request's fault: a URL or an id that cannot be decoded.
    const answered = answer(request, record).catch((error) => refuse(dialect, invalid(String(error))));
    record.status = send(response, await answered);
    options.onCall?.(record);
  });
  server.listen(port, host);
  await once(server, 'listening').catch((error) => {
    const message = `The emulator cannot listen on ${host}:${port} (${error.message}): choose another port.`;
    throw new Error(message, { cause: error });
  });
  const url = `http://${host}:${(server.address() as AddressInfo).port}`;

  return {
    url,
    apiKey,
    linkSignature: signature,
    calls,
    generations: () => [...store.tasks.values()],
    endOf: (task) => store.endOf(task),
    idOf: (task) => idIn(dialect, task),
    video: async (taskId) => {
      const task = store.tasks.get(taskId) ?? taskBy(dialect, taskId);
      if (!task) throw new Error(`The emulator has no task ${taskId}.`);
      return (await service.video(task)).bytes;
    },
    next: (call, ...scripted) => faults.add(call, scripted),
    scriptIsSpent: () => faults.isSpent(),
    close: () =>
      new Promise((resolve) => {
        service.close();
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

const bearerIn = ({ authorization }: IncomingHttpHeaders): string | undefined =>
  /^Bearer (.+)$/.exec(authorization ?? '')?.[1];

async function readBody(request: IncomingMessage): Promise<{ body?: unknown; problem?: string }> {
  let text = '';
  for await (const chunk of request.setEncoding('utf8')) {
    // Reads on even if it is too large: a client that is still sending does not see the answer.
    if (text.length <= MAX_REQUEST_BYTES) text += chunk;
  }
  if (text === '') return {};
  if (text.length > MAX_REQUEST_BYTES) return { problem: 'the request is too large' };
  const { 'content-type': type = '' } = request.headers;
  try {
    // Clients of OpenAI's interface send forms.
    if (!type.startsWith('multipart/form-data')) return { body: JSON.parse(text) };
    const form = await new Response(text, { headers: { 'content-type': type } }).formData();
    return { body: Object.fromEntries(form) };
  } catch {
    return { problem: 'the body is neither JSON nor a form' };
  }
}
