import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type EmulatedAnswer, refusal, send } from './answers';
import { type EmulatedCall, FaultScript, type Faults } from './faults';
import { Operations, type OperationsOptions } from './operations';
import type { EmulatedTask } from './task-book';

export interface EmulatorOptions extends Partial<OperationsOptions> {
  /** The loopback interface unless set. */
  host?: string;
  /** A free one unless set. */
  port?: number;
  apiKey?: string;
}

/** One call as the emulator saw it. The key is not kept, only whether it was right. */
export interface RecordedCall {
  call: EmulatedCall | 'other';
  method: string;
  path: string;
  authorized: boolean;
  idempotencyKey?: string;
  contentType?: string;
  body?: unknown;
}

export interface Emulator {
  url: string;
  apiKey: string;
  /** A secret of its links, for tests that look for links where none may be. */
  linkSignature: string;
  calls: readonly RecordedCall[];
  /** The generations that a user would have paid for. */
  generations(): EmulatedTask[];
  /** What the video of a task is, byte for byte. */
  video(taskId: string): Promise<Buffer>;
  /** Faults for the next calls of a kind, in order. */
  next<Call extends EmulatedCall>(call: Call, ...faults: Faults[Call][]): void;
  /** True when every scripted fault has happened. */
  scriptIsSpent(): boolean;
  close(): Promise<void>;
}

const LOOPBACK = '127.0.0.1';
const LARGEST_REQUEST_BYTES = 1024 * 1024;

/** Section 4 of the interface, and the files behind the links. */
const ROUTES: { methods: string[]; path: RegExp; call: EmulatedCall }[] = [
  { methods: ['POST'], path: /^\/v1\/videos\/(text|image)-to-video$/, call: 'submit' },
  { methods: ['GET'], path: /^\/v1\/videos\/([^/]+)$/, call: 'status' },
  { methods: ['GET', 'HEAD'], path: /^\/files\/([^/]+)\.mp4$/, call: 'download' },
];

/** The video generation service on your own machine: its whole interface, and faults on demand. */
export async function startEmulator(options: EmulatorOptions = {}): Promise<Emulator> {
  const { host = LOOPBACK, port = 0, apiKey = 'emulator-key', tasksFile } = options;
  const { jobTimeMs = 5_000, videoBytes, clock = Date.now } = options;
  const operations = new Operations({ jobTimeMs, videoBytes, clock, tasksFile });
  const script = new FaultScript();
  const calls: RecordedCall[] = [];

  const answer = async (request: IncomingMessage): Promise<EmulatedAnswer> => {
    const { method = '' } = request;
    const { pathname, searchParams } = new URL(request.url ?? '/', url);
    const route = ROUTES.find(({ methods, path }) => methods.includes(method) && path.test(pathname));
    const { body, problem } = await readJson(request);
    const authorized = request.headers.authorization === `Bearer ${apiKey}`;
    calls.push({
      call: route?.call ?? 'other',
      method,
      path: pathname,
      authorized,
      idempotencyKey: request.headers['idempotency-key']?.toString(),
      contentType: request.headers['content-type'],
      body,
    });
    const subject = decodeURIComponent(route?.path.exec(pathname)?.[1] ?? '');
    if (route?.call === 'download') {
      // A Range is for GET alone; of an answer to HEAD Node sends no body by itself.
      const headers = method === 'GET' ? request.headers : {};
      return operations.download(subject, searchParams.get('signature'), headers, script.take('download'));
    }
    if (!authorized) return refusal(401, 'unauthorized', 'the API key is missing or invalid');
    if (route?.call === 'submit' && problem) return refusal(400, 'invalid_request', problem);
    if (route?.call === 'submit') return operations.submit(body, subject === 'image', script.take('submit'));
    if (route?.call === 'status')
      return operations.status(subject, originOf(request) ?? url, script.take('status'));
    return refusal(404, 'not_found', `no such operation: ${method} ${pathname}`);
  };

  const server = createServer((request, response) => {
    answer(request).then(
      (given) => send(response, given),
      (error) => send(response, refusal(400, 'invalid_request', String(error))),
    );
  });
  const url = `http://${host}:${await listen(server, host, port)}`;

  return {
    url,
    apiKey,
    linkSignature: operations.signature,
    calls,
    generations: () => [...operations.book.tasks.values()],
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

/** A link leads back to where it was asked for: inside a container network that is another name than ours. */
function originOf({ headers }: IncomingMessage): string | undefined {
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

async function readJson(request: IncomingMessage): Promise<{ body?: unknown; problem?: string }> {
  let text = '';
  for await (const chunk of request.setEncoding('utf8')) {
    // What is too large is still read to its end: a client that is sending does not see the answer.
    if (text.length <= LARGEST_REQUEST_BYTES) text += chunk;
  }
  if (text === '') return {};
  if (text.length > LARGEST_REQUEST_BYTES) return { problem: 'the request is too large' };
  try {
    return { body: JSON.parse(text) };
  } catch {
    return { problem: 'the body is not JSON' };
  }
}
