import type { FastifyInstance } from 'fastify';
import { badField, Refusal } from './http-errors';

/** The service takes 2 MiB, which is what Temporal takes too. */
export const LARGEST_BODY_BYTES = 2 * 1024 * 1024;

/** An image in a JSON body: a string that is a `data:` URL. Base64 has no quotes. */
const IMAGE_IN_JSON = /"\s*data:[^"]*"/gi;

const MOST_FIELDS = 1_000;

/** Only an image makes a JSON body larger. Measured as it came and before it is parsed: a header may be missing, or lie. */
export function limitJson(app: FastifyInstance, mostBytes: number): void {
  const parse = app.getDefaultJsonParser('error', 'error');
  app.removeContentTypeParser('application/json');
  app.addContentTypeParser<string>('application/json', { parseAs: 'string' }, (request, body, done) => {
    if (body.length > mostBytes && withoutImages(body) > mostBytes) done(bodyTooLarge());
    else void parse(request, body, (error, parsed) => done(error ?? tooManyFields(parsed), parsed));
  });
}

/** A body with a hundred thousand fields is small, and copying it over and over takes seconds. */
function tooManyFields(parsed: unknown): Refusal | null {
  if (Object.keys(Object(parsed)).length <= MOST_FIELDS) return null;
  return badField(undefined, `The body has more than ${MOST_FIELDS} fields.`);
}

function withoutImages(body: string): number {
  return (body.match(IMAGE_IN_JSON) ?? []).reduce((left, image) => left - image.length, body.length);
}

/** The reader of forms limits each part, but not all of them together. */
export function limitForms(app: FastifyInstance, mostBytes: number): void {
  app.addHook('onRequest', async ({ headers }) => {
    const isForm = /^multipart\//i.test(headers['content-type'] ?? '');
    if (isForm && Number(headers['content-length']) > mostBytes) throw bodyTooLarge();
  });
}

const bodyTooLarge = () =>
  new Refusal({ status: 413, code: 'body_too_large', message: 'The body is too large.' });
