import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type EmulatedAnswer, send } from './answers';
import { Chaos, type ChaosOptions } from './chaos';
import { checkName, shownValue } from './check-arguments';
import { DIALECT_NAMES } from './dialects';
import { type EmulatedCall, FaultScript, type Faults } from './faults';
import { Operations, type OperationsOptions } from './operations';
import { type ReceivedCall, type RecordedCall, receive, routesOf } from './receive';
import type { EmulatedTask } from './task-book';

/** Options of startEmulator. */
export interface EmulatorOptions extends Partial<OperationsOptions> {
  /** The loopback interface unless set. */
  host?: string;
  /** A free one unless set. */
  port?: number;
  apiKey?: string;
  /** Whether there is `DELETE /v1/videos/{task_id}`, which the interface does not have. Not unless set. */
  cancelling?: boolean;
  /** Faults by chance, for calls that no script has one for. None unless set. */
  chaos?: ChaosOptions;
  /** Told each call once it has been answered, or is known to get no answer. */
  onCall?: (call: RecordedCall) => void;
}

/** A running emulator: its address, the calls it received, and the faults to come. */
export interface Emulator {
  url: string;
  apiKey: string;
  /** A secret of its links, for tests that look for links where none may be. */
  linkSignature: string;
  /** With which the same chaos comes again. */
  chaosSeed?: string;
  calls: readonly RecordedCall[];
  /** The generations that a user would have paid for. */
  generations(): EmulatedTask[];
  /** When the service was or will be done with a task, by its clock: it succeeded, failed or was cancelled. */
  endOf(task: EmulatedTask): number;
  /** Under which id its callers know a task: its own one, but for some dialects. */
  idOf(task: EmulatedTask): string;
  /** What the video of a task is, byte for byte. Its callers' id is known here as well. */
  video(taskId: string): Promise<Buffer>;
  /** Faults for the next calls of a kind, in order. */
  next<Call extends EmulatedCall>(call: Call, ...faults: Faults[Call][]): void;
  /** True when every scripted fault has happened. */
  scriptIsSpent(): boolean;
  close(): Promise<void>;
}

type Answering = (subject: string, received: ReceivedCall) => EmulatedAnswer | Promise<EmulatedAnswer>;

const LOOPBACK = '127.0.0.1';

/**
 * The video generation service on your own machine: its whole interface, and faults on demand.
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
  const { jobTimeMs = 5_000, clock = Date.now, idempotencyKeys = 'ignored', dialect = 'default' } = options;
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

  const answers: Record<EmulatedCall, Answering> = {
    submit: (subject, { record, headers, problem }) => {
      if (problem !== undefined) return operations.wording.refused(400, 'invalid_request', problem);
      const submission = { ...record, origin: originOf(headers) ?? url, needsImage: subject === 'image' };
      return operations.submit(submission, faultFor('submit', subject));
    },
    status: (taskId, { headers }) =>
      operations.status(taskId, originOf(headers) ?? url, faultFor('status', taskId)),
    download: (taskId, { record, query, keyless, headers }) => {
      // A Range is for GET alone; of an answer to HEAD Node sends no body by itself.
      const asked = record.method === 'GET' ? headers : {};
      const fault = faultFor('download', taskId);
      return keyless
        ? operations.download(taskId, query.get('signature'), asked, fault)
        : operations.content(taskId, asked, fault);
    },
    cancel: (taskId, { headers }) =>
      operations.cancel(taskId, originOf(headers) ?? url, faultFor('cancel', taskId)),
    retrieve: (_, { headers, query }) => {
      const fileId = query.get('file_id') ?? '';
      return operations.retrieve(fileId, originOf(headers) ?? url, faultFor('retrieve', fileId));
    },
  };

  const answer = async (received: ReceivedCall): Promise<EmulatedAnswer> => {
    const { call, method, path, authorized } = received.record;
    if (!authorized && !received.keyless) {
      return operations.wording.refused(401, 'unauthorized', 'the API key is missing or invalid');
    }
    if (call === 'other') {
      const problem = ['not_found', `no such operation: ${method} ${path}`] as const;
      return received.keyless
        ? operations.wording.refusedByStorage(404, ...problem)
        : operations.wording.refused(404, ...problem);
    }
    return answers[call](decodeURIComponent(received.subject), received);
  };

  /** The request's fault more likely than ours: an address or an id that cannot be decoded. */
  const unforeseen = (error: unknown): EmulatedAnswer =>
    operations.wording.refused(400, 'invalid_request', String(error));

  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    const received = await receive(request, { apiKey, routes });
    calls.push(received.record);
    received.record.status = send(response, await answer(received).catch(unforeseen));
    options.onCall?.(received.record);
  };

  const server = createServer((request, response) => {
    handle(request, response).catch((error) => send(response, unforeseen(error)));
  });
  const url = `http://${host}:${await listen(server, host, port)}`;

  return {
    url,
    apiKey,
    linkSignature: operations.signature,
    chaosSeed: chaos?.seed,
    calls,
    generations: () => [...operations.book.tasks.values()],
    endOf: (task) => operations.book.endOf(task),
    idOf: (task) => operations.wording.idOf(task),
    video: async (taskId) => {
      const task = operations.book.tasks.get(taskId) ?? operations.task(taskId);
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
    `startEmulator: jobTimeMs is ${shownValue(jobTimeMs)}: give milliseconds, such as 5000.`,
  );
}

/** A link leads back to where it was asked for: inside a container network that is another name than ours. */
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
