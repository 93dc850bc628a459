import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type EmulatedAnswer, send } from './answers';
import { Chaos, type ChaosOptions } from './chaos';
import { checkName, showValue } from './check-arguments';
import { DIALECT_NAMES } from './dialects';
import { type EmulatedCall, FaultScript, type Faults } from './faults';
import { Operations, type OperationsOptions } from './operations';
import { type ReceivedCall, type RecordedCall, receive, routesOf } from './receive';
import type { EmulatedTask } from './task-store';

/** Options of startEmulator. */
export interface EmulatorOptions extends Partial<OperationsOptions> {
  /** The host to listen on; 127.0.0.1 unless set. */
  host?: string;
  /** The port to listen on; a free one unless set. */
  port?: number;
  /** The key that callers must send; `emulator-key` unless set. */
  apiKey?: string;
  /** Adds `DELETE /v1/videos/{task_id}`, which the interface does not have. Off unless set. */
  cancelling?: boolean;
  /** Random faults for calls that have no scripted fault. None unless set. */
  chaos?: ChaosOptions;
  /** Called after each call has its answer, or is known to get none. */
  onCall?: (call: RecordedCall) => void;
}

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

type AnswerCall = (subject: string, received: ReceivedCall) => EmulatedAnswer | Promise<EmulatedAnswer>;

const DEFAULT_JOB_TIME_MS = 5_000;

/** How long an emulator's tasks take, as a profile says it: all equally long. */
export function emulatedTimes(jobTimeMs = DEFAULT_JOB_TIME_MS): { median: number; slow: number } {
  const timeMs = Math.max(jobTimeMs, 1);
  return { median: timeMs, slow: timeMs };
}
const LOOPBACK = '127.0.0.1';

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
  const { host = LOOPBACK, port = 0, apiKey = 'emulator-key', cancelling = false } = options;
  const {
    jobTimeMs = DEFAULT_JOB_TIME_MS,
    clock = Date.now,
    idempotencyKeys = 'ignored',
    dialect = 'default',
  } = options;
  checkName('startEmulator: dialect', dialect, DIALECT_NAMES);
  checkName('startEmulator: idempotencyKeys', idempotencyKeys, ['ignored', 'honoured']);
  checkJobTime(jobTimeMs);
  const operations = new Operations({ ...options, jobTimeMs, clock, idempotencyKeys, dialect });
  const routes = routesOf({ dialect, cancelling });
  const script = new FaultScript();
  const chaos = options.chaos && new Chaos(options.chaos);
  const faultFor = <Call extends EmulatedCall>(call: Call, subject: string): Faults[Call] | undefined =>
    script.take(call) ?? chaos?.draw(call, subject);
  const calls: RecordedCall[] = [];

  const answers: Record<EmulatedCall, AnswerCall> = {
    submit: (subject, { record, headers, problem, own }) => {
      const read = own?.read(record.body, own.of);
      const refusal = problem ?? (read?.ok === false ? read.problem : undefined);
      if (refusal !== undefined) return operations.writer.refused(400, 'invalid_request', refusal);
      const submission = {
        ...record,
        ...(read?.ok && { body: read.request }),
        origin: originOf(headers) ?? url,
        needsImage: subject === 'image',
      };
      return operations.submit(submission, faultFor('submit', subject));
    },
    status: (taskId, { headers, problem, own }) => {
      if (problem !== undefined) return operations.writer.refused(400, 'invalid_request', problem);
      const task = { id: taskId, ...own };
      return operations.status(task, originOf(headers) ?? url, faultFor('status', taskId));
    },
    download: (taskId, { record, query, keyless, headers }) => {
      // Range applies to GET alone. Node sends no body in answer to HEAD.
      const requestHeaders = record.method === 'GET' ? headers : {};
      const fault = faultFor('download', taskId);
      return keyless
        ? operations.download(taskId, query.get('signature'), requestHeaders, fault)
        : operations.content(taskId, requestHeaders, fault);
    },
    cancel: (taskId, { headers }) =>
      operations.cancel(taskId, originOf(headers) ?? url, faultFor('cancel', taskId)),
    retrieve: (taskId, { headers, query, own }) => {
      const origin = originOf(headers) ?? url;
      if (own) return operations.result(taskId, origin, faultFor('retrieve', taskId));
      const fileId = query.get('file_id') ?? '';
      return operations.retrieve(fileId, origin, faultFor('retrieve', fileId));
    },
  };

  const answer = async (received: ReceivedCall): Promise<EmulatedAnswer> => {
    const { call, method, path, authorized } = received.record;
    if (!authorized && !received.keyless) {
      return operations.writer.refused(401, 'unauthorized', 'the API key is missing or invalid');
    }
    if (call === 'other') {
      const problem = ['not_found', `no such operation: ${method} ${path}`] as const;
      return received.keyless
        ? operations.writer.refusedByFileServer(404, ...problem)
        : operations.writer.refused(404, ...problem);
    }
    return answers[call](decodeURIComponent(received.subject), received);
  };

  /** Most likely the request's fault: a URL or an id that cannot be decoded. */
  const badRequest = (error: unknown): EmulatedAnswer =>
    operations.writer.refused(400, 'invalid_request', String(error));

  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    const received = await receive(request, { apiKey, routes });
    calls.push(received.record);
    received.record.status = send(response, await answer(received).catch(badRequest));
    options.onCall?.(received.record);
  };

  const server = createServer((request, response) => {
    handle(request, response).catch((error) => send(response, badRequest(error)));
  });
  const url = `http://${host}:${await listen(server, host, port)}`;

  return {
    url,
    apiKey,
    linkSignature: operations.signature,
    chaosSeed: chaos?.seed,
    calls,
    generations: () => [...operations.store.tasks.values()],
    endOf: (task) => operations.store.endOf(task),
    idOf: (task) => operations.writer.idOf(task),
    video: async (taskId) => {
      const task = operations.store.tasks.get(taskId) ?? operations.taskById(taskId);
      if (!task) throw new Error(`The emulator has no task ${taskId}.`);
      return (await operations.video(task)).bytes;
    },
    next: (call, ...faults) => script.add(call, faults),
    scriptIsSpent: () => script.isSpent(),
    close: () =>
      new Promise((resolve) => {
        operations.close();
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function checkJobTime(jobTimeMs: unknown): void {
  if (typeof jobTimeMs === 'number' && jobTimeMs >= 0) return;
  throw new RangeError(
    `startEmulator: jobTimeMs is ${showValue(jobTimeMs)}: give milliseconds, such as 5000.`,
  );
}

/** Links use the host by which the caller reached us: in a container network it differs from ours. */
function originOf(headers: IncomingHttpHeaders): string | undefined {
  return headers.host && `http://${headers.host}`;
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
