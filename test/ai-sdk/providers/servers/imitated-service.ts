import { createHash, randomBytes } from 'node:crypto';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import {
  answerWith,
  type EmulatedAnswer,
  type EmulatedHttpAnswer,
  fileAnswer,
  send,
  spoil,
} from '../../../../src/testing/answers';
import { isRefusal } from '../../../../src/testing/faults';
import type { EmulatedTask } from '../../../../src/testing/task-store';
import { TaskStore } from '../../../../src/testing/task-store';
import { noiseVideo } from '../../../../src/testing/video/make-video';
import { FaultsByPrompt, failureOf, type ImitatedFaults, refusalOf } from './faults';
import type { DescribedTask, Imitation, Refusal, Reply, ServiceCall } from './imitation';

/** One call that the service received. */
export interface ReceivedCall {
  call: keyof ImitatedFaults | 'other';
  method: string;
  path: string;
  /** The prompt of the task that it is about. */
  prompt?: string;
  /** The status of the answer, if one was sent. */
  status?: number;
}

export interface ImitatedService {
  /** For the base URL option of the package. */
  baseUrl: string;
  /** The host and port of the API. */
  origin: string;
  apiKey: string;
  /** All calls so far, in order; those about one prompt if it is given. */
  calls(prompt?: string): ReceivedCall[];
  /** The tasks that a user would have paid for. */
  tasks(prompt?: string): EmulatedTask[];
  /** The id of a task in the answers of the service. */
  idOf(task: EmulatedTask): string;
  video(task: EmulatedTask): Promise<Buffer>;
  /** The paths of all links to videos so far: whoever has one can have the video. */
  links(): string[];
  /** Scripts faults for the next calls about a prompt, so that jobs at the same time do not meet each other's. */
  next<Call extends keyof ImitatedFaults>(
    prompt: string,
    call: Call,
    ...faults: ImitatedFaults[Call][]
  ): void;
  /** True when every scripted fault has happened. */
  scriptIsSpent(): boolean;
  close(): Promise<void>;
}

export interface ImitatedServiceOptions {
  clock?: () => number | Promise<number>;
  jobTimeMs?: number;
}

const VIDEO_BYTES = 64 * 1024;
const LOOPBACK = '127.0.0.1';

/** Starts a service of the AI SDK's packages on this machine: its API, and the server of its files beside it. */
export async function startImitatedService(
  imitation: Imitation,
  { clock = Date.now, jobTimeMs = 20_000 }: ImitatedServiceOptions = {},
): Promise<ImitatedService> {
  const store = new TaskStore(jobTimeMs);
  const apiKey = `key-${randomBytes(16).toString('hex')}`;
  const faults = new FaultsByPrompt();
  const tasksById = new Map<string, EmulatedTask>();
  const links = new Map<string, { task: EmulatedTask; isExpired: boolean }>();
  const received: ReceivedCall[] = [];

  const refused = (refusal: Refusal) => {
    const { retryAfterSeconds } = refusal;
    return answered(imitation.refused(refusal), retryAfterSeconds);
  };

  const freshLink = (task: EmulatedTask): string => {
    const token = randomBytes(12).toString('hex');
    const path = imitation.linkPath(token);
    links.set(pathOf(path), { task, isExpired: false });
    return `${imitation.linkNeedsKey ? origin : files.origin}${path}`;
  };

  const describe = async (task: EmulatedTask): Promise<DescribedTask> => {
    const { request, submittedAtMs } = task;
    const common = { id: imitation.idOf(task.taskId), origin, submittedAtMs, request };
    const view = store.view(task, await clock());
    switch (view.state) {
      case 'queued':
      case 'running':
        return { ...common, state: view.state, percent: view.percent ?? 0 };
      case 'succeeded': {
        const { bytes } = await videoOf(request);
        return { ...common, state: 'succeeded', videoUrl: freshLink(task), video: bytes };
      }
      case 'failed':
        if (!view.error) throw new Error('A failed task has a reason.');
        return { ...common, state: 'failed', error: view.error };
      case 'cancelled':
        throw new Error('No task is cancelled here.');
    }
  };

  const create = async (
    request: EmulatedTask['request'],
    failure?: EmulatedTask['failure'],
  ): Promise<EmulatedTask> => {
    const task = store.create(request, await clock(), failure && { failure });
    tasksById.set(imitation.idOf(task.taskId), task);
    return task;
  };

  const submit = async (call: ServiceCall, record: ReceivedCall): Promise<EmulatedAnswer> => {
    const understood = imitation.understand(call);
    if ('problem' in understood) return refused({ reason: 'wrong-body', message: understood.problem });
    const { request } = understood;
    record.prompt = request.prompt;
    const fault = faults.take(request.prompt, 'submit');
    if (fault && isRefusal(fault)) return refused(refusalOf(fault));
    const { policy } = imitation;
    const byPolicy = fault?.kind === 'refused-content' ? policy[fault.stage] : undefined;
    if (byPolicy?.at === 'submit') return answered(byPolicy.reply);
    const task = await create(request, failureOf(fault, policy));
    const accepted = async () =>
      answered(imitation.accepted(await describe({ ...task, failure: undefined })));
    if (fault === undefined || fault.kind === 'failed-task' || fault.kind === 'refused-content') {
      return accepted();
    }
    return spoil(fault, accepted);
  };

  const status = async (id: string, record: ReceivedCall): Promise<EmulatedAnswer> => {
    const task = tasksById.get(id);
    if (task === undefined) return refused({ reason: 'no-such-task', id });
    const { prompt } = task.request;
    record.prompt = prompt;
    const fault = faults.take(prompt, 'status');
    if (fault && isRefusal(fault)) return refused(refusalOf(fault));
    const correct = async () => answered(imitation.status(await describe(task)));
    return fault ? spoil(fault, correct) : correct();
  };

  const download = async (call: ServiceCall, record: ReceivedCall): Promise<EmulatedAnswer> => {
    const { status: gone, contentType, body } = imitation.expiredLink;
    const link = links.get(call.path);
    if (link === undefined) return plain(404, 'Not Found');
    const { prompt } = link.task.request;
    record.call = 'download';
    record.prompt = prompt;
    const fault = link.isExpired ? undefined : faults.take(prompt, 'download');
    if (fault?.kind === 'expired') link.isExpired = true;
    if (link.isExpired) return answerWith(gone, body, { 'content-type': contentType });
    if (fault && isRefusal(fault)) return refused(refusalOf(fault));
    const file = async () => fileAnswer(await videoOf(link.task.request), call.headers);
    return fault === undefined || fault.kind === 'expired' ? file() : spoil(fault, file);
  };

  const answerCall = async (call: ServiceCall, record: ReceivedCall): Promise<EmulatedAnswer> => {
    if (imitation.keyOf(call) !== apiKey) return refused({ reason: 'wrong-key' });
    const route = imitation.route(call);
    if (route === undefined) {
      return links.has(call.path) ? download(call, record) : refused({ reason: 'no-such-path' });
    }
    record.call = route.call;
    return route.call === 'submit' ? submit(call, record) : status(route.id, record);
  };

  /** Another company's server: a key that arrives there is in wrong hands. */
  const answerFile = async (call: ServiceCall, record: ReceivedCall): Promise<EmulatedAnswer> =>
    imitation.keyOf(call) === undefined
      ? download(call, record)
      : plain(400, 'Only one auth mechanism allowed');

  const listener =
    (answer: typeof answerCall): RequestListener =>
    async (request, response) => {
      const { pathname: path, searchParams: query } = new URL(request.url ?? '/', 'http://service');
      const { method = '', headers } = request;
      const record: ReceivedCall = { call: 'other', method, path };
      received.push(record);
      const body = await json(request).catch(() => undefined);
      const call = { method, path, query, headers, body };
      record.status = send(response, await answer(call, record).catch(failed));
    };

  const api = await listen(listener(answerCall));
  const files = await listen(listener(answerFile));
  const { origin } = api;

  return {
    origin,
    baseUrl: `${origin}${imitation.basePath}`,
    apiKey,
    calls: (prompt) => received.filter((one) => prompt === undefined || one.prompt === prompt),
    tasks: (prompt) =>
      [...store.tasks.values()].filter(({ request }) => prompt === undefined || request.prompt === prompt),
    idOf: ({ taskId }) => imitation.idOf(taskId),
    links: () => [...links.keys()],
    video: async ({ request }) => (await videoOf(request)).bytes,
    next: (prompt, call, ...more) => faults.add(prompt, call, more),
    scriptIsSpent: () => faults.isSpent(),
    close: async () => {
      await Promise.all([api.close(), files.close()]);
    },
  };
}

async function videoOf(request: EmulatedTask['request']): Promise<{ bytes: Buffer; etag: string }> {
  const bytes = await noiseVideo(request, VIDEO_BYTES);
  return { bytes, etag: `"${createHash('sha256').update(bytes).digest('hex')}"` };
}

const pathOf = (link: string) => new URL(link, 'http://service').pathname;

function answered({ status, body, headers: own }: Reply, retryAfterSeconds?: number): EmulatedHttpAnswer {
  const headers = {
    ...own,
    ...(retryAfterSeconds !== undefined && { 'retry-after': String(retryAfterSeconds) }),
  };
  return answerWith(status, body === undefined ? '' : Object(body), headers);
}

const plain = (status: number, text: string) => answerWith(status, text, { 'content-type': 'text/plain' });

/** A defect of the imitation, which the test should see rather than take for a fault of the service. */
const failed = (error: unknown) => plain(599, String(error));

async function listen(listener: RequestListener): Promise<{ origin: string; close(): Promise<void> }> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, LOOPBACK, resolve));
  return {
    origin: `http://${LOOPBACK}:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
