import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type EmulatedAnswer, refusal, send } from './answers';
import { type EmulatedCall, FaultScript, type Faults } from './faults';
import { Operations, type OperationsOptions } from './operations';
import { type ReceivedCall, type RecordedCall, receive } from './receive';
import type { EmulatedTask } from './task-book';

export interface EmulatorOptions extends Partial<OperationsOptions> {
  /** The loopback interface unless set. */
  host?: string;
  /** A free one unless set. */
  port?: number;
  apiKey?: string;
  /** Whether there is `DELETE /v1/videos/{task_id}`, which the interface does not have. Not unless set. */
  cancelling?: boolean;
}

export interface Emulator {
  url: string;
  apiKey: string;
  /** A secret of its links, for tests that look for links where none may be. */
  linkSignature: string;
  calls: readonly RecordedCall[];
  /** The generations that a user would have paid for. */
  generations(): EmulatedTask[];
  /** When the service was or will be done with a task, by its clock: it succeeded, failed or was cancelled. */
  endOf(task: EmulatedTask): number;
  /** What the video of a task is, byte for byte. */
  video(taskId: string): Promise<Buffer>;
  /** Faults for the next calls of a kind, in order. */
  next<Call extends EmulatedCall>(call: Call, ...faults: Faults[Call][]): void;
  /** True when every scripted fault has happened. */
  scriptIsSpent(): boolean;
  close(): Promise<void>;
}

type Answering = (subject: string, received: ReceivedCall) => EmulatedAnswer | Promise<EmulatedAnswer>;

const LOOPBACK = '127.0.0.1';

/** The video generation service on your own machine: its whole interface, and faults on demand. */
export async function startEmulator(options: EmulatorOptions = {}): Promise<Emulator> {
  const { host = LOOPBACK, port = 0, apiKey = 'emulator-key', cancelling = false } = options;
  const { jobTimeMs = 5_000, clock = Date.now, idempotencyKeys = 'ignored' } = options;
  const operations = new Operations({ ...options, jobTimeMs, clock, idempotencyKeys });
  const script = new FaultScript();
  const calls: RecordedCall[] = [];

  const answers: Record<EmulatedCall, Answering> = {
    submit: (subject, { record, problem }) =>
      problem === undefined
        ? operations.submit({ ...record, needsImage: subject === 'image' }, script.take('submit'))
        : refusal(400, 'invalid_request', problem),
    status: (taskId, { headers }) =>
      operations.status(taskId, originOf(headers) ?? url, script.take('status')),
    download: (taskId, { record, signature, headers }) => {
      // A Range is for GET alone; of an answer to HEAD Node sends no body by itself.
      const asked = record.method === 'GET' ? headers : {};
      return operations.download(taskId, signature, asked, script.take('download'));
    },
    cancel: (taskId) => operations.cancel(taskId, script.take('cancel')),
  };

  const answer = async (received: ReceivedCall): Promise<EmulatedAnswer> => {
    const { call, method, path, authorized } = received.record;
    // A link is a key of its own.
    if (!authorized && call !== 'download') {
      return refusal(401, 'unauthorized', 'the API key is missing or invalid');
    }
    if (call === 'other') return refusal(404, 'not_found', `no such operation: ${method} ${path}`);
    return answers[call](decodeURIComponent(received.subject), received);
  };

  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    const received = await receive(request, { apiKey, cancelling });
    calls.push(received.record);
    received.record.status = send(response, await answer(received).catch(unforeseen));
  };

  const server = createServer((request, response) => {
    handle(request, response).catch((error) => send(response, unforeseen(error)));
  });
  const url = `http://${host}:${await listen(server, host, port)}`;

  return {
    url,
    apiKey,
    linkSignature: operations.signature,
    calls,
    generations: () => [...operations.book.tasks.values()],
    endOf: (task) => operations.book.endOf(task),
    video: async (taskId) => {
      const task = operations.book.tasks.get(taskId);
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

/** The request's fault more likely than ours: an address or an id that cannot be decoded. */
function unforeseen(error: unknown): EmulatedAnswer {
  return refusal(400, 'invalid_request', String(error));
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
