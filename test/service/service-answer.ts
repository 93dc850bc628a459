import type { ServiceAnswer } from '../../src/service/video-service';

/** An answer to a poll, with a body that is a text or written as JSON. */
export const answer = (body: unknown, rest: Partial<ServiceAnswer> = {}): ServiceAnswer => ({
  call: 'poll',
  status: 200,
  headers: {},
  body: typeof body === 'string' ? body : JSON.stringify(body),
  ...rest,
});
