import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { DIALECTS, type DialectName } from './dialects';
import { bearerIn, type OwnInterface, type OwnRoute } from './dialects/own-interface';
import { OWN_INTERFACES } from './dialects/own-interfaces';
import type { EmulatedCall } from './faults';

/** One call that the emulator received. It records whether the API key was right, but not the key. */
export interface RecordedCall {
  call: EmulatedCall | 'other';
  method: string;
  path: string;
  authorized: boolean;
  idempotencyKey?: string;
  contentType?: string;
  /** The `Range` header. */
  range?: string;
  body?: unknown;
  /** When the request had been read, by the machine's clock. */
  atMs: number;
  /** The status of the answer; missing until it is sent, and if none is sent. */
  status?: number;
}

/** A call with what its answer needs beyond the record. The record holds no secrets. */
export interface ReceivedCall {
  record: RecordedCall;
  /** The task or file that the path names, still percent-encoded. */
  subject: string;
  query: URLSearchParams;
  /** True if the call needs no API key, since its link is signed. */
  keyless: boolean;
  headers: IncomingHttpHeaders;
  /** Why the record has no body. */
  problem?: string;
  /** Set for a call in the words of the real service. */
  own?: OwnCall;
}

type OwnCall = Pick<OwnRoute, 'of' | 'withoutVideo'> & Pick<OwnInterface, 'read'>;

const MAX_REQUEST_BYTES = 2 * 1024 * 1024;

interface Route {
  methods: string[];
  path: RegExp;
  call: RecordedCall['call'];
  keyless?: true;
  /** Of the real service. The others are the interface's. */
  own?: OwnRoute & Pick<OwnInterface, 'read' | 'keyIn'>;
}

/**
 * Section 4 of the interface, the files behind the links, the extra calls of some services, and the calls of the real service
 * where they are known: in such a dialect a client may use either.
 */
export function routesOf({ dialect, cancelling }: { dialect: DialectName; cancelling: boolean }): Route[] {
  const { idHasSlashes, video } = DIALECTS[dialect];
  const task = idHasSlashes ? /^\/v1\/videos\/(.+)$/ : /^\/v1\/videos\/([^/]+)$/;
  const routes: Route[] = [
    ...ownRoutes(OWN_INTERFACES[dialect]),
    { methods: ['POST'], path: /^\/v1\/videos\/(text|image)-to-video$/, call: 'submit' },
    { methods: ['GET'], path: task, call: 'status' },
    { methods: ['GET', 'HEAD'], path: /^\/files\/([^/]+)\.mp4$/, call: 'download', keyless: true },
    { methods: ['GET', 'HEAD'], path: /^\/stills\/(.*)$/, call: 'other', keyless: true },
  ];
  if (cancelling) routes.push({ methods: ['DELETE'], path: task, call: 'cancel' });
  if (video?.at === 'content') {
    routes.push({ methods: ['GET', 'HEAD'], path: /^\/v1\/videos\/([^/]+)\/content$/, call: 'download' });
  }
  if (video?.at === 'file') {
    routes.push({ methods: ['GET'], path: /^\/v1\/files\/retrieve()$/, call: 'retrieve' });
  }
  return routes;
}

function ownRoutes(own?: OwnInterface): Route[] {
  const { routes = [], ...rest } = own ?? {};
  if (own === undefined) return [];
  return routes.map((route) => ({
    methods: [route.method],
    path: route.path,
    call: route.call,
    own: { ...route, read: own.read, ...rest },
  }));
}

/** Reads a whole request and finds its route. */
export async function receive(
  request: IncomingMessage,
  { apiKey, routes }: { apiKey: string; routes: Route[] },
): Promise<ReceivedCall> {
  const { method = '', headers } = request;
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://emulator');
  const route = routes.find(({ methods, path }) => methods.includes(method) && path.test(pathname));
  const { body, problem } = await readJson(request);
  const key = (route?.own?.keyIn ?? bearerIn)(headers);
  return {
    record: {
      call: route?.call ?? 'other',
      method,
      path: pathname,
      authorized: key === apiKey,
      // An empty key counts as none, or all callers would share it.
      idempotencyKey: headers['idempotency-key']?.toString() || undefined,
      contentType: headers['content-type'],
      range: headers.range,
      body,
      atMs: Date.now(),
    },
    subject: subjectOf(pathname, searchParams, route),
    query: searchParams,
    keyless: route?.keyless === true,
    headers,
    problem: problem ?? missingHeader(headers, route?.own),
    own: route?.own,
  };
}

function subjectOf(pathname: string, query: URLSearchParams, route?: Route): string {
  const { own } = route ?? {};
  if (own?.idIn !== undefined) return encodeURIComponent(query.get(own.idIn) ?? '');
  if (own?.call === 'submit') return own.of ?? '';
  return route?.path.exec(pathname)?.[1] ?? '';
}

function missingHeader(headers: IncomingHttpHeaders, own?: OwnRoute): string | undefined {
  if (own?.needs === undefined) return undefined;
  const [name, value] = own.needs;
  return headers[name] === value ? undefined : `the header ${name} must be ${value}`;
}

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
