import { z } from 'zod';
import { type Environment, httpUrl, quoted, readerOf, type SettingGroup, text } from './read-setting';

const positive = text
  .refine((given) => Number(given) > 0 && Number.isFinite(Number(given)), quoted)
  .transform(Number);
const wholePositive = positive.pipe(z.number().int({ error: ({ input }) => `is ${input}` }));

/** An origin is a URL without a path; `*` and patterns would let every site in. */
function readOrigins(given: string | undefined, context: z.RefinementCtx): string[] {
  const origins = (given ?? '').split(',').map((origin) => origin.trim());
  for (const origin of origins.filter((one) => one !== '')) {
    if (origin.includes('*') || !URL.canParse(origin) || new URL(origin).origin !== origin)
      context.addIssue({ code: 'custom', message: `has ${JSON.stringify(origin)}, which is not an origin` });
  }
  return origins.filter((origin) => origin !== '');
}

export const GATEWAY_SETTINGS = {
  VIDEOGEN_GATEWAY_KEYS_FILE: {
    type: text.optional(),
    meaning: 'The file with the keys of the gateway, a name and a SHA-256 a line.',
    page: 'gateway.md#keys',
    unset: 'no keys: only this machine can connect',
    fix: 'name a file that videogen gateway-key has written, or unset it',
  },
  VIDEOGEN_GATEWAY_URL: {
    type: httpUrl('is not an http(s) URL').optional(),
    meaning:
      'How callers reach the gateway, for the links in its answers. For workers: how the service reaches it, to fetch uploaded images from a folder.',
    page: 'downloads-and-storage.md#images',
    unset: 'the Host header of each call',
    fix: 'give an address such as https://videos.example.com, or unset it',
  },
  VIDEOGEN_GATEWAY_REQUESTS_PER_SECOND: {
    type: positive.optional(),
    meaning: 'How many requests a second each key may make.',
    unset: 'no limit',
    fix: 'give a number above 0, such as 20, or unset it',
  },
  VIDEOGEN_GATEWAY_JOBS_AT_A_TIME: {
    type: wholePositive.optional(),
    meaning: 'How many jobs of each key may run at a time.',
    unset: 'no limit',
    fix: 'give a whole number above 0, such as 10, or unset it',
  },
  VIDEOGEN_GATEWAY_JOBS_A_DAY: {
    type: wholePositive.optional(),
    meaning: 'How many jobs each key may start in 24 hours.',
    unset: 'no limit',
    fix: 'give a whole number above 0, such as 500, or unset it',
  },
  VIDEOGEN_GATEWAY_CORS_ORIGINS: {
    type: text.optional().transform(readOrigins),
    meaning: 'The origins whose pages may call the gateway from a browser, with commas between them.',
    page: 'gateway.md#browsers',
    unset: 'none: only its own page',
    fix: 'give exact origins such as https://shop.example.com,http://localhost:3000, or unset it',
  },
  VIDEOGEN_GATEWAY_LOG: {
    type: z
      .enum(['requests', 'errors'], { error: ({ input }) => `is ${JSON.stringify(input)}` })
      .default('requests'),
    meaning:
      'What the gateway logs as JSON lines: `requests` for every answer, `errors` for those from 500 on.',
    fix: 'set it to requests or errors, or unset it',
  },
} satisfies SettingGroup;

const read = readerOf(GATEWAY_SETTINGS);

export interface GatewayConfig {
  keysFile: string | undefined;
  publicUrl: string | undefined;
  corsOrigins: readonly string[];
  log: 'requests' | 'errors';
  limits: { requestsPerSecond?: number; jobsAtATime?: number; jobsADay?: number };
}

export function readGatewayConfig(env?: Environment): GatewayConfig {
  return {
    keysFile: read('VIDEOGEN_GATEWAY_KEYS_FILE', env),
    publicUrl: readGatewayUrl(env),
    corsOrigins: read('VIDEOGEN_GATEWAY_CORS_ORIGINS', env),
    log: read('VIDEOGEN_GATEWAY_LOG', env),
    limits: {
      requestsPerSecond: read('VIDEOGEN_GATEWAY_REQUESTS_PER_SECOND', env),
      jobsAtATime: read('VIDEOGEN_GATEWAY_JOBS_AT_A_TIME', env),
      jobsADay: read('VIDEOGEN_GATEWAY_JOBS_A_DAY', env),
    },
  };
}

/** Without the slash at its end. */
export function readGatewayUrl(env?: Environment): string | undefined {
  return read('VIDEOGEN_GATEWAY_URL', env)?.replace(/(?<!\/)\/+$/, '');
}
