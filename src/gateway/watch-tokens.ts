import { createHmac, timingSafeEqual } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { GatewayKey, GatewayKeys } from './gateway-keys';

// A key in a page belongs to everybody who opens the page. A token shows one video, for a while.

const LIVES_FOR_SECONDS = 15 * 60;

/** It is in the query, because neither an EventSource nor a <video> can send a header. */
const WATCHABLE = new Set(['/v1/videos/:id', '/v1/videos/:id/content', '/v1/videos/:id/events']);
const TOKEN = /^vgw_([a-z0-9_]{1,63})\.(\d{1,12})\.([A-Za-z0-9_-]{43})$/;

export const watchToken = z
  .object({
    token: z.string().describe('For ?token= of the video, its content and its events.'),
    expires_at: z.int().describe('Seconds since 1970.'),
  })
  .meta({ id: 'WatchToken' });

/** Every gateway with the key's line accepts it, and none does once the line is removed. */
export function makeWatchToken(key: GatewayKey, videoId: string): z.infer<typeof watchToken> {
  const expiresAt = Math.floor(Date.now() / 1_000) + LIVES_FOR_SECONDS;
  const signature = sign(key, videoId, expiresAt).toString('base64url');
  return { token: `vgw_${key.name}.${expiresAt}.${signature}`, expires_at: expiresAt };
}

/** The key behind the token of a call, if it is for the video that the call reads. */
export function keyOfWatcher(request: FastifyRequest, keys: GatewayKeys): GatewayKey | undefined {
  const { method, routeOptions, params, query } = request;
  if (!['GET', 'HEAD'].includes(method) || !WATCHABLE.has(routeOptions.url ?? '')) return undefined;
  const [, name = '', expiresAt, given = ''] = TOKEN.exec(Object(query).token) ?? [];
  if (!(Number(expiresAt) > Date.now() / 1_000)) return undefined;
  const signature = Buffer.from(given, 'base64url');
  return keys
    .named(name)
    .find((key) => timingSafeEqual(sign(key, Object(params).id, Number(expiresAt)), signature));
}

const sign = ({ sha256, name }: GatewayKey, videoId: string, expiresAt: number) =>
  createHmac('sha256', sha256).update(`watch\n${name}\n${videoId}\n${expiresAt}`).digest();
