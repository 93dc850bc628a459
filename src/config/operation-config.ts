import { isIP } from 'node:net';
import { z } from 'zod';
import { durationMs } from '../contract/duration';
import { LOG_LEVELS, type LogLevel } from '../contract/log-events';
import { type EncryptionKeyRing, parseKeyRing } from '../encryption/key-ring';
import type { WebhookOptions } from '../service';
import { isWebhookSecret, WEBHOOK_SECRET_RULE } from '../service/webhook-signature';
import { secretIfSet } from './read-files';
import {
  type Environment,
  HOSTS_FIX,
  hosts,
  httpUrl,
  parsed,
  problemWith,
  quoted,
  readerOf,
  type SettingGroup,
  text,
} from './read-setting';

/** Temporal's server gives the tasks of a worker that does not end to others anyway. */
const LONGEST_GRACE_MS = 3_600_000;

export const DEFAULT_MONITOR_HOST = '127.0.0.1';

const LOG_FORMATS = ['auto', 'json', 'pretty'] as const;

export const OPERATION_SETTINGS = {
  VIDEOGEN_WEBHOOK_SECRET: {
    type: text.refine(isWebhookSecret, WEBHOOK_SECRET_RULE).optional(),
    meaning: 'Signs the webhooks that workers send, as `whsec_…`. [More](webhooks.md)',
    unset: 'required to send webhooks',
    fix: 'make one with: echo "whsec_$(openssl rand -base64 32)"',
    isSecret: true,
  },
  VIDEOGEN_WEBHOOK_URL: {
    type: httpUrl('is not an http(s) URL').optional(),
    meaning: 'The receiver of the webhooks of all jobs that have no `callbackUrl`. [More](webhooks.md)',
    unset: 'only jobs with a `callbackUrl` send webhooks',
    fix: 'give an address such as https://example.com/webhooks, or unset it',
  },
  VIDEOGEN_WEBHOOK_ALLOW: {
    type: hosts.default([]),
    meaning:
      'Hosts, separated by commas, that webhooks may go to at private addresses or without TLS. [More](webhooks.md#which-addresses-a-worker-calls)',
    unset: 'none',
    fix: HOSTS_FIX,
  },
  VIDEOGEN_MONITOR_PORT: {
    type: parsed(parseMonitorAddress).optional(),
    meaning:
      'The port on which a worker or a gateway serves `/metrics`, `/livez` and `/readyz`. It needs no key and listens on 127.0.0.1; with an address, as in `0.0.0.0:9464`, also for the network of your probes. [More](observability.md)',
    unset: 'none: nothing is measured or served',
    fix: 'give a port from 1 to 65535, such as 9464, or an address and a port, such as 0.0.0.0:9464, or unset it',
  },
  VIDEOGEN_SHUTDOWN_GRACE: {
    type: text
      .refine((given) => (durationMs(given) ?? Number.POSITIVE_INFINITY) <= LONGEST_GRACE_MS, quoted)
      .default('20s'),
    meaning:
      'How long what a worker does may finish after SIGTERM. Then a download is left for the next attempt; a submit is awaited. [More](observability.md#shutdown)',
    fix: 'give a duration of at most an hour, such as 20s or 5m, or unset it',
  },
  VIDEOGEN_LOG_LEVEL: {
    type: text.toLowerCase().pipe(z.enum(LOG_LEVELS, quoted)).optional(),
    meaning:
      'The least important lines that are logged: `debug` has a line for every poll. [More](observability.md#logs)',
    unset: '`info`; `error` for `generate` and `batch`',
    fix: `give one of ${LOG_LEVELS.join(', ')}`,
  },
  VIDEOGEN_LOG_FORMAT: {
    type: text.toLowerCase().pipe(z.enum(LOG_FORMATS, quoted)).default('auto'),
    meaning:
      '`json` for a JSON object a line, `pretty` for people, `auto` for `pretty` on a terminal alone. [More](observability.md#logs)',
    fix: `give one of ${LOG_FORMATS.join(', ')}`,
  },
  VIDEOGEN_ENCRYPTION_KEYS: {
    type: parsed((given) => {
      const keys = parseKeyRing(given);
      return 'ring' in keys ? keys.ring : keys.problem;
    }).optional(),
    meaning:
      'The keys that encrypt what jobs leave in Temporal, as `ID:BASE64` with commas between them. The first encrypts, all decrypt. [More](encryption.md)',
    unset: 'nothing is encrypted',
    fix: 'make a key with: videogen encryption-key NAME, and put it first',
    isSecret: true,
  },
} satisfies SettingGroup;

const read = readerOf(OPERATION_SETTINGS);

/** How a worker sends webhooks; undefined when it has no secret and so sends none. */
export function readWebhookConfig(env?: Environment): WebhookOptions | undefined {
  const url = read('VIDEOGEN_WEBHOOK_URL', env);
  const allow = read('VIDEOGEN_WEBHOOK_ALLOW', env);
  const setting = OPERATION_SETTINGS.VIDEOGEN_WEBHOOK_SECRET;
  const secret = secretIfSet('VIDEOGEN_WEBHOOK_SECRET', setting, env);
  if (secret !== undefined) return { url, allow, secret };
  if (url === undefined) return undefined;
  throw problemWith('VIDEOGEN_WEBHOOK_SECRET', setting, 'is not set, although VIDEOGEN_WEBHOOK_URL is');
}

/** Where a monitor listens. */
export interface MonitorAddress {
  /** The port; 0 for a free one. */
  port: number;
  /** Default: 127.0.0.1. */
  host?: string;
}

/** `9464`, `0.0.0.0:9464` or `[::]:9464`. */
function parseMonitorAddress(given: string): Required<MonitorAddress> | string {
  const [, name = DEFAULT_MONITOR_HOST, digits] = /^(?:(.+):)?(\d{1,5})$/.exec(given) ?? [];
  const port = Number(digits);
  const host = name.replace(/^\[(.*)\]$/, '$1');
  const isValid = port > 0 && port < 65_536 && (host === 'localhost' || isIP(host) > 0);
  return isValid ? { port, host } : `is ${JSON.stringify(given)}`;
}

/** Where the monitor listens: as given, `false` for nowhere, or else as the environment says. Undefined for nowhere. */
export function monitorAddress(
  given: MonitorAddress | false | undefined,
  env?: Environment,
): Required<MonitorAddress> | undefined {
  if (given === false) return undefined;
  if (given !== undefined) return { host: DEFAULT_MONITOR_HOST, ...given };
  return read('VIDEOGEN_MONITOR_PORT', env);
}

/** How long running activities may finish after a shutdown signal. */
export function readShutdownGraceMs(env?: Environment): number {
  return durationMs(read('VIDEOGEN_SHUTDOWN_GRACE', env)) ?? 0;
}

/** How a process logs. The level is that of the command unless it is set. */
export function readLogConfig(
  { level, isTerminal }: { level: LogLevel; isTerminal: boolean },
  env?: Environment,
): { level: LogLevel; format: 'json' | 'pretty' } {
  const format = read('VIDEOGEN_LOG_FORMAT', env);
  return {
    level: read('VIDEOGEN_LOG_LEVEL', env) ?? level,
    format: format === 'auto' ? (isTerminal ? 'pretty' : 'json') : format,
  };
}

/** The keys that encrypt payloads; undefined when there are none. They are read once: new keys need a restart. */
export function readEncryptionKeys(env?: Environment): EncryptionKeyRing | undefined {
  return secretIfSet('VIDEOGEN_ENCRYPTION_KEYS', OPERATION_SETTINGS.VIDEOGEN_ENCRYPTION_KEYS, env)?.();
}
