import { pipeline, Readable, Transform } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { type ByteRange, readStoredVideo, type VideoStorage } from '../storage';
import { refusal } from './http-errors';
import { errorOf } from './video-object';
import type { VideoSnapshot } from './video-states';

export const contentHeaders = z.object({
  range: z
    .string()
    .optional()
    .describe('One range of bytes, such as bytes=0-1023. Anything else gets the whole video.'),
  'if-range': z.string().optional().describe('The range applies only while the video has this ETag.'),
  'if-none-match': z.string().optional().describe('ETags that the client has already.'),
});

export const contentQuery = z.object({
  variant: z
    .literal('video', { error: 'must be video, or left out' })
    .optional()
    .describe("OpenAI's clients name what they want; there is only the video."),
});

const content = { 'video/*': { schema: { type: 'string', format: 'binary' } } };

export const CONTENT_ANSWERS = {
  200: { description: 'The video.', content },
  206: { description: 'The part of the video that was asked for.', content },
  304: { description: 'The client has this video already, by its ETag.', type: 'null' },
} as const;

/** Sends the stored video, or the part of it that was asked for. Never 200 while there is none. */
export async function sendContent(
  { taskId, ending }: Pick<VideoSnapshot, 'taskId' | 'ending'>,
  storage: VideoStorage,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  contentQuery.parse(request.query);
  if (ending === undefined) throw refusal('not_ready');
  if (ending.failure) {
    const { message, advice, param, code } = errorOf(ending.failure);
    // For callers that look at the status alone: a video that was refused never comes.
    throw refusal(code === 'ContentRefused' ? 'content_refused' : 'no_video', { message, advice, param });
  }
  const { uri, bytes, sha256, contentType } = ending.result.video;
  // The storage chose it by the kind of the video.
  const [extension = '.mp4'] = /\.[a-z0-9]{1,5}$/i.exec(uri) ?? [];
  const etag = `"${sha256}"`;
  reply.headers({
    etag,
    'accept-ranges': 'bytes',
    'content-disposition': `inline; filename="${taskId}${extension}"`,
    // It is the caller's alone, and may be deleted. With the ETag, asking again costs no bytes.
    'cache-control': 'private, no-cache',
  });
  if (request.headers['if-none-match']?.split(/\s*,\s*/).includes(etag)) return reply.code(304).send();
  const range = rangeOf(request, etag, bytes);
  if (range === 'unsatisfiable') {
    reply.header('content-range', `bytes */${bytes}`);
    throw refusal('bad_range', { message: `The video has ${bytes} bytes.` });
  }
  const stream = await readStoredVideo(storage, uri, range);
  if (stream === undefined) throw refusal('not_in_storage');
  const length = range ? range.end - range.start + 1 : bytes;
  reply.type(contentType).header('content-length', length);
  if (range) reply.code(206).header('content-range', `bytes ${range.start}-${range.end}/${bytes}`);
  if (request.method !== 'HEAD') return reply.send(exactly(length, stream));
  stream.destroy();
  // Fastify would take no body for one of no bytes.
  return reply.send(Readable.from([]));
}

/** A file that was changed in the storage must cut the answer off: a client would wait for the rest of a short one for good. */
function exactly(bytes: number, stream: Readable): Readable {
  let left = bytes;
  const changed = () => new Error('The stored video has another size than it had.');
  const counted = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      left -= chunk.length;
      if (left < 0) done(changed());
      else done(null, chunk);
    },
    flush: (done) => done(left === 0 ? null : changed()),
  });
  // Closes the file when the client has left, even before the first byte.
  return pipeline(stream, counted, () => undefined);
}

/** One range of bytes. Several at once, and any that cannot be read, are answered with the whole video, as HTTP allows. */
function rangeOf(
  { headers }: FastifyRequest,
  etag: string,
  bytes: number,
): ByteRange | undefined | 'unsatisfiable' {
  const ifRange = headers['if-range'];
  if (ifRange !== undefined && ifRange !== etag) return undefined;
  const [, first = '', last = ''] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(headers.range ?? '') ?? [];
  if (first === '' && last === '') return undefined;
  const start = first === '' ? Math.max(bytes - Number(last), 0) : Number(first);
  const end = first === '' || last === '' ? bytes - 1 : Math.min(Number(last), bytes - 1);
  if (last !== '' && first !== '' && Number(last) < start) return undefined;
  return start > end ? 'unsatisfiable' : { start, end };
}
