import { finished, type Readable, Transform } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import { badField, HttpRefusal, refusal } from './http-errors';
import { Shares } from './key-limits';
import { LARGEST_BODY_BYTES } from './video-routes';

/** Bodies that are in memory at once. An image in JSON takes about three times its size while it is read. */
const LARGEST_SHARE_BYTES = 32 * 1024 * 1024;
const MOST_BYTES = 2 * LARGEST_SHARE_BYTES;
/** Requests without images are smaller, and no large one keeps them out. */
const FREE_BYTES = 16 * 1024;
/** A request has three levels, and fields of a service's own have a few more. A million take a second to parse. */
const MOST_LEVELS = 64;

/** An image in JSON: a text that begins with `data:`. Millions of short ones would take a second to take out. */
const IMAGE = /"\s{0,200}data:(?=[^"\\]{100})[^"\\]*"/gi;

/** Bounds what the bodies of a key, and those of all keys, cost before they are parsed. */
export function limitBodies(app: FastifyInstance): Shares {
  const shares = new Shares({ ofKey: LARGEST_SHARE_BYTES, inAll: MOST_BYTES }, 'large requests in transfer');
  app.addHook('onRequest', async ({ headers, caller }, { raw }) => {
    // The reader of forms takes the bytes from the connection itself, past the counter below.
    const isUncounted = isForm(headers['content-type']) && headers['transfer-encoding'] !== undefined;
    const bytes = isUncounted ? LARGEST_SHARE_BYTES : Number(headers['content-length'] ?? 0);
    if (bytes > LARGEST_SHARE_BYTES) throw refusal('body_too_large');
    if (bytes > FREE_BYTES) shares.take(caller?.name ?? '', bytes, raw);
  });
  app.addHook('preParsing', async ({ headers, caller }, { raw }, payload) => {
    if (isForm(headers['content-type']) || headers['content-length'] !== undefined) return payload;
    let counted = FREE_BYTES;
    let received = 0;
    return checked(payload, ({ length }) => {
      received += length;
      if (received > counted) shares.take(caller?.name ?? '', received - counted, raw);
      counted = Math.max(counted, received);
    });
  });
  const parseJson = app.getDefaultJsonParser('error', 'error');
  app.addContentTypeParser<string>('application/json', { parseAs: 'string' }, (request, body, done) => {
    const isOfInterface = request.routeOptions.url?.startsWith('/v1/');
    checkShape(body, isOfInterface ? LARGEST_BODY_BYTES : Number.POSITIVE_INFINITY);
    void parseJson(request, body, done);
  });
  return shares;
}

const isForm = (type = '') => /^multipart\//i.test(type);

/** What is refused is read to its end and dropped: a client that still sends would see a reset instead of the answer. */
function checked(payload: Readable, check: (chunk: Buffer) => void): Readable {
  let problem: Error | undefined;
  const reader = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      try {
        if (problem === undefined) check(chunk);
      } catch (error) {
        if (!(error instanceof HttpRefusal)) return done(Object(error));
        problem = error;
      }
      if (problem === undefined) this.push(chunk);
      return done();
    },
    flush: (done) => done(problem),
  });
  finished(payload, (error) => {
    if (error) reader.destroy(error);
  });
  return payload.pipe(reader);
}

/** Throws a refusal of JSON that is too large besides its images, or too deep. */
function checkShape(json: string, mostChars: number): void {
  const rest = json.replace(IMAGE, '""');
  if (rest.length > mostChars) throw refusal('body_too_large');
  let levels = 0;
  let isText = false;
  for (let index = 0; index < rest.length; index++) {
    const sign = rest.charAt(index);
    if (sign === '"') isText = !isText;
    else if (isText && sign === '\\') index++;
    else if (isText) continue;
    else if (sign === ']' || sign === '}') levels--;
    else if ((sign === '[' || sign === '{') && ++levels > MOST_LEVELS)
      throw badField(undefined, `The JSON is nested deeper than ${MOST_LEVELS} levels.`);
  }
}
