import { createHash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** Whether the client has this version already. */
export function hasVersion({ headers }: FastifyRequest, etag: string): boolean {
  return headers['if-none-match']?.split(/\s*,\s*/).includes(etag) ?? false;
}

export interface CachedAnswer {
  type: string;
  content: string | Buffer;
  /** The content security policy of what browsers show. */
  policy: string;
}

/** Sends what a client may keep. Every load asks: a new version of the gateway must not meet half of an old page. */
export function sendCached(
  request: FastifyRequest,
  reply: FastifyReply,
  { type, content, policy }: CachedAnswer,
): FastifyReply {
  const etag = `"${createHash('sha256').update(content).digest('base64url')}"`;
  reply.headers({ etag, 'cache-control': 'no-cache', 'content-security-policy': policy });
  return hasVersion(request, etag) ? reply.code(304).send() : reply.type(type).send(content);
}
