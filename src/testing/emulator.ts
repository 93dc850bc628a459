import { createServer, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parseRequest } from '../contract/request';
import { type EmulatedAnswer, jsonAnswer, send } from './answers';
import { Chaos } from './chaos';
import { CANCELLING, type Dialect, type DialectRoute, INTERFACE } from './dialect';
import { type EmulatedCaller, EmulatedService, idIn, invalid, refuse } from './emulated-service';
import type { EmulatorOptions, RecordedCall } from './emulator-options';
import { FAL } from './fal-dialect';
import { checkFaultName, type EmulatedCall, FaultScript, type Faults, showValue } from './faults';
import type { EmulatedTask } from './task-store';

/** A running emulator: its address, the calls it received, and the faults to come. */
export interface Emulator {
  url: string;
  apiKey: string;
  /** A secret in every link, so that tests can search for links where none may appear. */
  linkSignature: string;
  /** The seed that repeats this chaos. */
  chaosSeed?: string;
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

/** A call with what its answer needs beyond the record. The record holds no secrets. */
interface ReceivedCall {
  record: RecordedCall;
  route: DialectRoute | undefined;
  caller: EmulatedCaller;
  query: URLSearchParams;
  headers: IncomingHttpHeaders;
  /** Why the record has no body. */
  problem?: string;
}

const LOOPBACK = '127.0.0.1';
const MAX_REQUEST_BYTES = 2 * 1024 * 1024;
const DEFAULT_JOB_TIME_MS = 5_000;

/** Dialects that the emulator speaks at their own paths, next to the interface's. */
const OTHER_DIALECTS: readonly Dialect[] = [FAL];

/** The file behind a link. It needs no API key, since the link is signed. */
const FILE: DialectRoute = { method: 'GET', path: /^\/files\/([^/]+)\.mp4$/, call: 'download' };
/** A file server answers with plain HTTP statuses, even if the service puts errors under HTTP 200. */
const LINK_REFUSED = jsonAnswer(403, { error: { code: 'forbidden', message: 'the link is not valid' } });

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
  const { jobTimeMs = DEFAULT_JOB_TIME_MS, clock = Date.now, idempotencyKeys = 'ignored' } = options;
  checkFaultName('startEmulator: idempotencyKeys', idempotencyKeys, ['ignored', 'honoured']);
  if (!(typeof jobTimeMs === 'number' && jobTimeMs >= 0)) {
    const given = showValue(jobTimeMs);
    throw new RangeError(`startEmulator: jobTimeMs is ${given}: give milliseconds, such as 5000.`);
  }
  const service = new EmulatedService({ ...options, jobTimeMs, clock, idempotencyKeys });
  const script = new FaultScript();
  const chaos = options.chaos && new Chaos(options.chaos);
  const faultFor = <Call extends EmulatedCall>(call: Call, taskId?: string): Faults[Call] | undefined =>
    script.take(call) ?? chaos?.draw(call, taskId);
  const calls: RecordedCall[] = [];
  const routes = [
    { dialect, route: FILE },
    ...[dialect, ...OTHER_DIALECTS].flatMap((one) => one.routes.map((route) => ({ dialect: one, route }))),
    ...(options.cancelling ? [{ dialect, route: CANCELLING }] : []),
  ];

  const taskBy = (ids: Pick<Dialect, 'idOf'>, id: string): EmulatedTask | undefined =>
    ids.idOf === undefined
      ? service.store.tasks.get(id)
      : [...service.store.tasks.values()].find((task) => idIn(ids, task) === id);

  /** Reads a whole request and finds its route. */
  const receive = async (request: IncomingMessage): Promise<ReceivedCall> => {
    const { method = '', headers } = request;
    const { pathname: path, searchParams: query } = new URL(request.url ?? '/', 'http://emulator');
    const found = routes.find(
      ({ route }) =>
        route.path.test(path) &&
        (method === route.method || (method === 'HEAD' && route.call === 'download')),
    );
    const { body, problem } = await readJson(request);
    const { keyIn = bearerIn } = found?.route ?? {};
    const record: RecordedCall = {
      call: found?.route.call ?? 'other',
      method,
      path,
      authorized: keyIn(headers) === apiKey,
      // An empty key counts as none, or all callers would share it.
      idempotencyKey: headers['idempotency-key']?.toString() || undefined,
      contentType: headers['content-type'],
      range: headers.range,
      body,
      atMs: Date.now(),
    };
    // Links use the host by which the caller reached us: in a container network it differs from ours.
    const origin = headers.host === undefined ? url : `http://${headers.host}`;
    const caller = { dialect: found?.dialect ?? dialect, origin };
    return { record, route: found?.route, caller, query, headers, problem };
  };

  const answer = async (received: ReceivedCall): Promise<EmulatedAnswer> => {
    const { record, route, caller, query, headers, problem } = received;
    const { method, path, body, authorized, idempotencyKey } = record;
    const refused = (status: number, code: string, message: string) =>
      refuse(caller.dialect, { status, code, message });
    if (!authorized && route !== FILE) {
      return refused(401, 'unauthorized', 'the API key is missing or invalid');
    }
    if (route === undefined) return refused(404, 'not_found', `no such operation: ${method} ${path}`);
    if (problem !== undefined) return refuse(caller.dialect, invalid(problem));
    if (route.call === 'submit') {
      const parsed = (route.read ?? parseRequest)(body);
      if (!parsed.ok) return refuse(caller.dialect, invalid(parsed.problem));
      const { request } = parsed;
      return service.submit(caller, { request, idempotencyKey }, faultFor('submit'));
    }
    const inPath = decodeURIComponent(route.path.exec(path)?.[1] ?? '');
    const id = route.idIn === undefined ? inPath : (query.get(route.idIn) ?? '');
    if (route === FILE && query.get('signature') !== service.signature) return LINK_REFUSED;
    // Links have the emulator's own id.
    const task = taskBy(route === FILE ? {} : route.idOf ? route : caller.dialect, id);
    if (!task) return route === FILE ? LINK_REFUSED : refused(404, 'not_found', 'no such task');
    switch (route.call) {
      case 'cancel':
        return service.cancel(caller, task, faultFor('cancel', id));
      case 'download':
        // Range applies to GET alone. Node sends no body in answer to HEAD.
        return service.download(caller, task, method === 'GET' ? headers : {}, faultFor('download', id));
      case 'retrieve':
        return service.status(caller, task, route.answer, faultFor('retrieve', id));
      case 'status':
        return service.status(caller, task, route.answer, faultFor('status', id));
    }
  };

  /** Most likely the request's fault: a URL or an id that cannot be decoded. */
  const badRequest = (error: unknown): EmulatedAnswer => refuse(dialect, invalid(String(error)));

  const server = createServer(async (request, response) => {
    try {
      const received = await receive(request);
      calls.push(received.record);
      received.record.status = send(response, await answer(received).catch(badRequest));
      options.onCall?.(received.record);
    } catch (error) {
      send(response, badRequest(error));
    }
  });
  const url = `http://${host}:${await listen(server, host, port)}`;

  return {
    url,
    apiKey,
    linkSignature: service.signature,
    chaosSeed: chaos?.seed,
    calls,
    generations: () => [...service.store.tasks.values()],
    endOf: (task) => service.store.endOf(task),
    idOf: (task) => idIn(dialect, task),
    video: async (taskId) => {
      const task = service.store.tasks.get(taskId) ?? taskBy(dialect, taskId);
      if (!task) throw new Error(`The emulator has no task ${taskId}.`);
      return (await service.video(task)).bytes;
    },
    next: (call, ...faults) => script.add(call, faults),
    scriptIsSpent: () => script.isSpent(),
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

async function readJson(request: IncomingMessage): Promise<{ body?: unknown; problem?: string }> {
  let text = '';
  for await (const chunk of request.setEncoding('utf8')) {
    // Reads on even if it is too large: a client that is still sending does not see the answer.
    if (text.length <= MAX_REQUEST_BYTES) text += chunk;
  }
  if (text === '') return {};
  if (text.length > MAX_REQUEST_BYTES) return { problem: 'the request is too large' };
  try {
    return { body: JSON.parse(text) };
  } catch {
    return { problem: 'the body is not JSON' };
  }
}

function listen(server: ReturnType<typeof createServer>, host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', (error) => {
      const message = `The emulator cannot listen on ${host}:${port} (${error.message}): choose another port.`;
      reject(new Error(message, { cause: error }));
    });
    server.listen(port, host, () => resolve((server.address() as AddressInfo).port));
  });
}
