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
/** A request has a few dozen values. To parse a megabyte of small ones takes a second, and twenty times the memory. */
const MOST_OF_REQUEST = { bytes: LARGEST_BODY_BYTES, values: 10_000 };
/** The keys for payloads are those of operators. */
const UNLIMITED = { bytes: Number.POSITIVE_INFINITY, values: Number.POSITIVE_INFINITY };

type Check = (chunk: Buffer) => void;

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
  app.addHook('preParsing', async ({ headers, caller, routeOptions }, { raw }, payload) => {
    const type = headers['content-type'];
    if (isForm(type)) return payload;
    const checks: Check[] = [];
    if (headers['content-length'] === undefined) {
      let counted = FREE_BYTES;
      let received = 0;
      checks.push(({ length }) => {
        received += length;
        if (received > counted) shares.take(caller?.name ?? '', received - counted, raw);
        counted = Math.max(counted, received);
      });
    }
    if (/^application\/json\b/i.test(type ?? '')) {
      const isOfInterface = routeOptions.url?.startsWith('/v1/');
      const shape = new JsonShape(isOfInterface ? MOST_OF_REQUEST : UNLIMITED);
      checks.push((chunk) => shape.read(chunk));
    }
    return checked(payload, checks);
  });
  return shares;
}

const isForm = (type = '') => /^multipart\//i.test(type);

/** What is refused is read to its end and dropped: a client that still sends would see a reset instead of the answer. */
function checked(payload: Readable, checks: readonly Check[]): Readable {
  let problem: Error | undefined;
  const reader = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      try {
        if (problem === undefined) for (const check of checks) check(chunk);
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

const [QUOTE, BACKSLASH, BLANK, COMMA] = [0x22, 0x5c, 0x20, 0x2c];
const OPENING: readonly number[] = [0x5b, 0x7b];
const CLOSING: readonly number[] = [0x5d, 0x7d];
const IMAGE_START = 'data:';

const tooMany = (most: number) => badField(undefined, `The JSON has more than ${most} values.`);
const tooDeep = () => badField(undefined, `The JSON is nested deeper than ${MOST_LEVELS} levels.`);

/** Follows JSON while it arrives: its depth, its values, and its size without images, which are texts that begin with `data:`. */
class JsonShape {
  private levels = 0;
  private values = 1;
  private counted = 0;
  /** The first characters of the text that is being read; undefined between texts. */
  private start: string | undefined;
  private isImage = false;
  private isEscaped = false;

  constructor(private readonly most: typeof UNLIMITED) {}

  /** Throws a refusal. */
  read(chunk: Buffer): void {
    for (let index = 0; index < chunk.length; index++) {
      if (this.isImage) index = this.skipImage(chunk, index);
      else this.counted++;
      this.readByte(chunk[index] ?? BLANK);
    }
    if (this.counted > this.most.bytes) throw refusal('body_too_large');
  }

  /** Where the rest of an image ends, or the chunk. Megabytes byte by byte would keep everybody else waiting. */
  private skipImage(chunk: Buffer, from: number): number {
    const quote = chunk.indexOf(QUOTE, from);
    const end = quote < 0 ? chunk.length : quote;
    // Base64 has none. The quote may be escaped by it.
    this.isImage = !chunk.subarray(from, end).includes(BACKSLASH);
    return this.isImage ? end : from;
  }

  private readByte(byte: number): void {
    if (this.start === undefined) this.readOutside(byte);
    else if (this.isEscaped) this.isEscaped = false;
    else if (byte === BACKSLASH) this.isEscaped = true;
    else if (byte === QUOTE) {
      this.start = undefined;
      this.isImage = false;
    } else if (this.start.length < IMAGE_START.length && byte > BLANK) {
      this.start += String.fromCharCode(byte).toLowerCase();
      this.isImage = this.start === IMAGE_START;
    }
  }

  private readOutside(byte: number): void {
    if (byte === QUOTE) this.start = '';
    else if (byte === COMMA && ++this.values > this.most.values) throw tooMany(this.most.values);
    else if (CLOSING.includes(byte)) this.levels--;
    else if (OPENING.includes(byte) && ++this.levels > MOST_LEVELS) throw tooDeep();
  }
}
