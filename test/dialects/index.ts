import type { IncomingHttpHeaders } from 'node:http';
import { parseRequest } from '../../src/contract/request';
import type { Dialect, DialectRoute, Reply, TaskFacts } from '../../src/testing/dialect';
import { INTERFACE } from '../../src/testing/dialect';
import { FLAT_SERVICES } from './flat';
import { OWN_INTERFACES, readOwn } from './own-interfaces';
import { type ServiceWords, type ShownTask, type Words, WordsWithStatus } from './service-words';
import { WRAPPED_SERVICES } from './wrapped';

const SERVICES = { ...FLAT_SERVICES, ...WRAPPED_SERVICES };

/** A service whose answers, and requests where they are known, an emulator can imitate for a test. */
export type DialectName = keyof typeof SERVICES;
export const DIALECT_NAMES = Object.keys(SERVICES) as DialectName[];

/** For the emulator's option `dialect`. The service is called as the interface says, or in its own words if they are known. */
export function dialectOf(name: DialectName): Dialect {
  const service: ServiceWords = SERVICES[name];
  const { words } = service;

  const show = (task: TaskFacts): ShownTask => {
    const stillUrl = (still: string) => `${task.origin}/stills/${task.id}/${still}`;
    if (task.state === 'cancelled' && words.cancelled === undefined) {
      const error = { code: 'cancelled', message: 'the task was cancelled' };
      return { ...task, state: 'failed', word: words.failed, error, stillUrl };
    }
    const word = task.state === 'unknown' ? task.word : words[task.state];
    return { ...task, word: word ?? '', stillUrl };
  };
  const status = (task: TaskFacts): Reply => toReply(service.status(show(task)));

  return {
    routes: [...ownRoutes(name, status), ...interfaceRoutes(service), ...videoRoutes(service, show)],
    ...(service.idOf && { idOf: service.idOf }),
    accepted: (task) => toReply(service.accepted(show(task))),
    status,
    refused: (refusal) => toReply(service.refused(refusal)),
    refusedContent: (stage) => ({
      at: 'task',
      code: 'content_policy_violation',
      message: `the ${stage} violates the content policy`,
    }),
  };
}

const interfaceRoutes = ({ idHasSlashes }: ServiceWords): DialectRoute[] =>
  INTERFACE.routes.map((route) =>
    idHasSlashes && route.call === 'status' ? { ...route, path: /^\/v1\/videos\/(.+)$/ } : route,
  );

function videoRoutes({ video, idOf }: ServiceWords, show: (task: TaskFacts) => ShownTask): DialectRoute[] {
  if (video === undefined) return [];
  if (video === 'content') {
    return [{ method: 'GET', path: /^\/v1\/videos\/([^/]+)\/content$/, call: 'download' }];
  }
  return [
    {
      method: 'GET',
      path: /^\/v1\/files\/retrieve$/,
      call: 'retrieve',
      idIn: 'file_id',
      idOf: (taskId) => String(video.fileOf(idOf?.(taskId) ?? taskId)),
      answer: (task) => toReply(video.retrieved(show(task))),
    },
  ];
}

function ownRoutes(name: DialectName, status: (task: TaskFacts) => Reply): DialectRoute[] {
  if (!hasOwnInterface(name)) return [];
  const { routes, keyIn = bearerIn } = OWN_INTERFACES[name];
  return routes.map(({ of, withoutVideo, needs, ...route }) => ({
    ...route,
    // A call without a header that the service needs is refused, as one without its key.
    keyIn: (headers) => (needs === undefined || headers[needs[0]] === needs[1] ? keyIn(headers) : undefined),
    read: (body) => parseRequest(readOwn(name, body)),
    answer: (task) => {
      if (of !== undefined && (of === 'image') !== (task.request.image_url !== undefined)) {
        return { status: 404, body: { message: 'no such task' } };
      }
      return status(withoutVideo ? withoutResult(task) : task);
    },
  }));
}

const hasOwnInterface = (name: DialectName): name is keyof typeof OWN_INTERFACES =>
  Object.hasOwn(OWN_INTERFACES, name);

const bearerIn = ({ authorization }: IncomingHttpHeaders): string | undefined =>
  /^Bearer (.+)$/.exec(authorization ?? '')?.[1];

/** A poll that tells nothing of the video says that the task is over, and the result says how. */
function withoutResult({ videoUrl: _, error: __, ...task }: TaskFacts): TaskFacts {
  return task.state === 'failed' ? { ...task, state: 'succeeded' } : task;
}

function toReply(said: Words): Reply {
  const { status, body } = said instanceof WordsWithStatus ? said : { status: undefined, body: said };
  return { ...(status && { status }), ...(body && { body: toJson(body) }) };
}

/** JSON with bigints as numbers, which JSON.stringify cannot write. */
function toJson(body: object): string {
  const marked = JSON.stringify(body, (_key, value) =>
    typeof value === 'bigint' ? `bigint ${value}` : value,
  );
  return marked.replace(/"bigint (\d+)"/g, '$1');
}
