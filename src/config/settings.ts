import { existsSync } from 'node:fs';
import { z } from 'zod';
import { isStorageKey, KEY_PLACEHOLDERS } from '../contract/input-rules';
import { LOG_LEVELS } from '../contract/log-events';
import { LOST_SUBMIT_POLICIES } from '../contract/lost-submit';
import { DEFAULT_TASK_QUEUE } from '../contract/names';
import { parseKeyRing } from '../encryption/key-ring';
import { BUILT_IN_PROFILES } from '../service/built-in-profiles';
import { isWebhookSecret, WEBHOOK_SECRET_RULE } from '../service/webhook-signature';
import { readCapsFile } from './caps-config';
import { parseSecret, secretFile } from './read-files';
import {
  type Environment,
  isBlank,
  problemWith,
  type Setting,
  type SettingGroup,
  withoutBlanks,
} from './read-setting';
import { readProfileNamed, readServicesFile } from './services-file';
import * as forms from './setting-forms';

const HOSTS_FIX = 'give names or addresses of hosts, separated by commas, without scheme, port and path';

/** Temporal's server gives the tasks of a worker that does not end to others anyway. */
const LONGEST_GRACE_MS = 3_600_000;

const LOG_FORMATS = ['auto', 'json', 'pretty'] as const;

const S3_ENDPOINT = {
  type: forms.s3Endpoint.optional(),
  unset: "AWS's own",
  fix: 'set it to the address of the S3 server, such as https://s3.example.com, or unset it',
};

const PLACEHOLDERS = KEY_PLACEHOLDERS.map((name) => `{${name}}`).join(', ');

/** Every setting there is, in the order of the configuration page. */
export const SETTINGS = {
  'Video service': {
    VIDEO_API_BASE_URL: {
      type: forms.serviceUrl.optional(),
      meaning: 'Address of the video service.',
      unset: 'required by a worker',
      fix: 'set it to the address of the video service, such as https://api.example.com',
    },
    VIDEO_API_KEY: {
      type: forms.apiKey.optional(),
      meaning: "Its key, sent as Bearer to the service's own origin and nowhere else.",
      unset: 'required by a worker',
      isSecret: true,
      fix: 'set it to the key as the service gave it, on one line, or set VIDEO_API_KEY_FILE to a file with it',
    },
    VIDEOGEN_PROFILE: {
      type: forms.parsed((name) => readProfileNamed(name)).optional(),
      meaning: 'How the service differs: a [profile](other-services.md) by name, or a JSON or YAML file.',
      unset: 'none',
      fix: `name one of ${BUILT_IN_PROFILES.join(', ')}, or a correct JSON or YAML file`,
    },
    VIDEOGEN_ON_LOST_SUBMIT: {
      type: forms.text.pipe(forms.oneOf(LOST_SUBMIT_POLICIES)).default('hold'),
      meaning: 'What happens after a [lost submit](lost-submits.md): `hold`, `resubmit` or `fail`.',
      fix: `set it to one of ${LOST_SUBMIT_POLICIES.join(', ')}, or unset it for hold`,
    },
    VIDEOGEN_DOWNLOAD_ALLOW: {
      type: forms.hosts.default([]),
      meaning:
        'Hosts, separated by commas, whose videos may be [at private addresses](storage.md#which-addresses-a-worker-opens) or without TLS.',
      unset: 'none',
      fix: HOSTS_FIX,
    },
    VIDEOGEN_SERVICES_FILE: {
      type: forms.parsed(readServicesFile).optional(),
      meaning:
        'A YAML or JSON file with [several services](other-services.md#several-services), for workers and callers.',
      unset: 'the service in `VIDEO_API_BASE_URL`',
      fix: 'correct the file as docs/other-services.md#several-services shows it, or unset it',
    },
  },
  'Task queues': {
    VIDEOGEN_TASK_QUEUE: {
      type: forms.text.min(1, 'is empty').default(DEFAULT_TASK_QUEUE),
      meaning: 'Task queue of worker and client.',
      fix: `name a task queue, or unset it for ${DEFAULT_TASK_QUEUE}`,
      refusesBlank: true,
    },
    VIDEOGEN_DOWNLOAD_QUEUE: {
      type: forms.text.optional(),
      meaning: 'Task queue of the [downloads](deployment.md#workers-for-one-part-of-the-work), for workers.',
      unset: "the jobs' own",
    },
    VIDEOGEN_SUBMITS_PER_SECOND: {
      type: forms.positiveNumber.optional(),
      meaning: 'How many [submits](rate-limits.md) per second all workers of a queue together may start.',
      unset: 'no limit',
      fix: 'give a number above 0, such as 2 or 0.5, or unset it',
    },
  },
  Storage: {
    VIDEOGEN_STORAGE: {
      type: forms.storageLocation.default({ kind: 'file', folder: './videos' }),
      meaning: 'Where [videos go](storage.md): a folder, its `file://` URL, or `s3://bucket/prefix`.',
      unset: '`./videos`',
      fix: 'give a folder, an absolute file:// URL such as file:///srv/videos, or s3://bucket/prefix, or unset it for ./videos',
      refusesBlank: true,
    },
    VIDEOGEN_KEY_TEMPLATE: {
      type: forms.textThat((key) => isStorageKey(key) && !key.endsWith('/')).optional(),
      meaning: 'The [key](storage.md#keys) of a video whose job names none.',
      unset: '`{workflowId}.{ext}`',
      fix: `give a key inside the storage with any of ${PLACEHOLDERS} in it, such as {date}/{workflowId}.{ext}`,
    },
    VIDEOGEN_LARGEST_VIDEO: {
      type: forms.byteCount.optional(),
      meaning: 'The largest video that is stored, such as `500MB`.',
      unset: '`2GiB`',
      fix: 'give a size such as 500MB or 2GiB, or unset it for 2GiB',
    },
    VIDEOGEN_S3_PATH_STYLE: {
      type: forms.flag.optional(),
      meaning: '`true` for S3 servers that want the bucket in the path.',
      unset: '`false`',
    },
    AWS_ENDPOINT_URL_S3: { ...S3_ENDPOINT, meaning: 'Address of the S3 server.' },
    AWS_ENDPOINT_URL: { ...S3_ENDPOINT, meaning: 'The same for all AWS services.' },
  },
  Caps: {
    VIDEOGEN_CAPS: {
      type: forms.parsed(readCapsFile).default({}),
      meaning: 'A YAML or JSON file with [caps](costs.md#caps) in videos, seconds and money.',
      unset: 'no caps',
      fix: 'name a file such as: day: { videos: 100, money: 50 USD }, or unset it',
    },
  },
  Gateway: {
    VIDEOGEN_GATEWAY_KEYS_FILE: {
      type: forms.text.optional(),
      meaning: 'A file with the [keys](gateway.md#keys) of the gateway.',
      unset: 'none: only this machine can connect',
      fix: 'name a file that videogen gateway-key has written, or unset it',
    },
    VIDEOGEN_GATEWAY_URL: {
      type: forms.httpUrl().transform(forms.withoutLastSlashes).optional(),
      meaning:
        'How callers reach the gateway, for links. For workers: how the service reaches it, to fetch [images](storage.md#images).',
      unset: 'the Host header of each call',
      fix: 'give an address such as https://videos.example.com, or unset it',
    },
    VIDEOGEN_TEMPORAL_UI_URL: {
      type: forms.httpUrl().optional(),
      meaning: 'Address of the Temporal UI, for links to workflows.',
      unset: 'no links',
      fix: 'give an address such as http://localhost:8233, or unset it',
    },
    VIDEOGEN_GATEWAY_HOOK_SECRET: {
      type: forms.hookSecret.optional(),
      meaning:
        'The secret in `/v1/hooks/SECRET`, which the service [calls](gateway.md#webhooks-of-the-video-service) when a task changes.',
      unset: 'none',
      fix: 'make one with: openssl rand -hex 32, or give the whsec_… that the service signs with',
      isSecret: true,
    },
    VIDEOGEN_GATEWAY_CORS_ORIGINS: {
      type: forms.origins.default([]),
      meaning:
        'Origins, separated by commas, whose pages may call the gateway [from a browser](gateway.md#browsers).',
      unset: 'only its own page',
      fix: 'give exact origins such as https://shop.example.com,http://localhost:3000, or unset it',
    },
    VIDEOGEN_GATEWAY_CODEC_KEYS: {
      type: forms.keyNames.default([]),
      meaning:
        'Names of gateway keys, separated by commas, that may [decrypt payloads](deployment.md#decrypt-in-the-temporal-ui) at `/codec`.',
      unset: 'none',
      fix: 'give names of keys such as ops,alice, or unset it',
    },
  },
  Operation: {
    VIDEOGEN_WEBHOOK_SECRET: {
      type: forms.text.refine(isWebhookSecret, WEBHOOK_SECRET_RULE).optional(),
      meaning: 'Signs the [webhooks](gateway.md#webhooks) of workers, as `whsec_…`.',
      unset: 'required for webhooks',
      fix: 'make one with: echo "whsec_$(openssl rand -base64 32)"',
      isSecret: true,
    },
    VIDEOGEN_WEBHOOK_URL: {
      type: forms.httpUrl().optional(),
      meaning: 'Receiver of the webhooks of jobs that have no `callbackUrl`.',
      unset: 'no receiver',
      fix: 'give an address such as https://example.com/webhooks, or unset it',
    },
    VIDEOGEN_WEBHOOK_ALLOW: {
      type: forms.hosts.default([]),
      meaning:
        'Hosts, separated by commas, that webhooks may reach [at private addresses](gateway.md#which-addresses-a-worker-calls) or without TLS.',
      unset: 'none',
      fix: HOSTS_FIX,
    },
    VIDEOGEN_MONITOR_PORT: {
      type: forms.monitorAddress.optional(),
      meaning:
        'Port of [`/metrics`, `/livez` and `/readyz`](observability.md#metrics), without a key, on 127.0.0.1; `0.0.0.0:9464` is for all addresses.',
      unset: 'nothing is served',
      fix: 'give a port from 1 to 65535, such as 9464, or an address and a port, such as 0.0.0.0:9464, or unset it',
    },
    VIDEOGEN_SHUTDOWN_GRACE: {
      type: forms.durationUpTo(LONGEST_GRACE_MS).default(20_000),
      meaning: 'How long running work may take to finish [after SIGTERM](deployment.md#shutdown).',
      unset: '`20s`',
      fix: 'give a duration of at most an hour, such as 20s or 5m, or unset it',
    },
    VIDEOGEN_LOG_LEVEL: {
      type: forms.text.toLowerCase().pipe(forms.oneOf(LOG_LEVELS)).optional(),
      meaning:
        'The least important [lines](observability.md#logs) that are logged: `debug` has one for every poll.',
      unset: '`info`; `error` for `generate` and `batch`',
      fix: `give one of ${LOG_LEVELS.join(', ')}`,
    },
    VIDEOGEN_LOG_FORMAT: {
      type: forms.text.toLowerCase().pipe(forms.oneOf(LOG_FORMATS)).default('auto'),
      meaning: '`json`, `pretty`, or `auto`: `pretty` on a terminal, else `json`.',
      fix: `give one of ${LOG_FORMATS.join(', ')}`,
    },
    VIDEOGEN_ENCRYPTION_KEYS: {
      type: forms
        .parsed((given) => {
          const keys = parseKeyRing(given);
          return 'ring' in keys ? keys.ring : keys.problem;
        })
        .optional(),
      meaning:
        'Keys that [encrypt](deployment.md#encryption) what jobs leave in Temporal, as `ID:BASE64` with commas between them.',
      unset: 'none',
      fix: 'make a key with: videogen encryption-key NAME, and put it first',
      isSecret: true,
    },
  },
  Temporal: {
    TEMPORAL_ADDRESS: {
      type: forms.text.optional(),
      meaning: "Host and port of Temporal's server.",
      unset: '`127.0.0.1:7233`',
    },
    TEMPORAL_NAMESPACE: {
      type: forms.text.optional(),
      meaning: 'The namespace of jobs and workers.',
      unset: '`default`',
    },
    TEMPORAL_API_KEY: {
      type: z.string().optional(),
      meaning: 'The key for Temporal, such as one of Temporal Cloud.',
      unset: 'none',
    },
    TEMPORAL_TLS: {
      type: forms.sdkFlag.optional(),
      meaning: '`true` to connect with TLS; the certificates are in `TEMPORAL_TLS_…`.',
      unset: '`true` with an API key',
    },
    TEMPORAL_CONFIG_FILE: {
      // The SDK silently takes a missing file for an empty one.
      type: z.string().refine(existsSync, 'names a file that does not exist').optional(),
      meaning: "Temporal's profile file.",
      unset: "the one of Temporal's CLI",
    },
    TEMPORAL_PROFILE: {
      type: forms.text.optional(),
      meaning: 'The profile in that file.',
      unset: '`default`',
    },
    VIDEOGEN_SEARCH_ATTRIBUTES: {
      type: forms.flag.optional(),
      meaning: '`true` for a client whose jobs have [search attributes](observability.md#search-attributes).',
      unset: '`false`; `true` on the server of `generate` and `dev`',
    },
    TEMPORAL_DEPLOYMENT_NAME: {
      type: forms.text
        .refine((name) => !/[.:]/.test(name), {
          error: ({ input }) => `is ${JSON.stringify(input)}, and Temporal takes no dot or colon in it`,
        })
        .optional(),
      meaning: 'The [worker deployment](deployment.md#new-versions) of a worker.',
      unset: 'no versions',
      fix: 'choose another name, such as videos',
    },
    TEMPORAL_WORKER_BUILD_ID: {
      type: forms.text.optional(),
      meaning: 'Its version. Jobs end on the version on which they started.',
      unset: 'no versions',
    },
  },
  'Temporal servers on this machine': {
    VIDEOGEN_DATA: {
      type: z.string().optional(),
      meaning: 'Database folder of the Temporal server of `generate` and `dev`.',
      unset: '`~/.local/share/temporal-videogen`',
    },
    VIDEOGEN_CACHE: {
      type: z.string().optional(),
      meaning:
        'Where [downloaded servers](cli.md#where-the-temporal-server-comes-from) and tools of the tests are stored.',
      unset: '`~/.cache/temporal-videogen`',
    },
    VIDEOGEN_TEMPORAL_CLI: {
      type: z.string().optional(),
      meaning: 'A `temporal` CLI to use as the dev server.',
      unset: 'found',
    },
    VIDEOGEN_TEST_SERVER: {
      type: z.string().optional(),
      meaning: 'A time-skipping test server to use.',
      unset: 'found',
    },
  },
} satisfies Record<string, SettingGroup>;

const ALL = {
  ...SETTINGS['Video service'],
  ...SETTINGS['Task queues'],
  ...SETTINGS.Storage,
  ...SETTINGS.Caps,
  ...SETTINGS.Gateway,
  ...SETTINGS.Operation,
  ...SETTINGS.Temporal,
  ...SETTINGS['Temporal servers on this machine'],
};

type Name = keyof typeof ALL;
type Value<N extends Name> = z.output<(typeof ALL)[N]['type']>;

const BY_NAME: { [N in Name]: Setting<Value<N>> } = ALL;
const ROWS = Object.entries<Setting>(ALL);

/** The value of a setting. Throws a ConfigError for a value that is wrong. */
export function readSetting<N extends Name>(name: N, env: Environment = process.env): Value<N> {
  return readRow(name, BY_NAME[name], env);
}

function readRow<V>(name: string, setting: Setting<V>, env: Environment): V {
  const isUnset = isBlank(env[name]) && !setting.refusesBlank;
  const { success, data, error } = setting.type.safeParse(isUnset ? undefined : env[name]);
  if (success) return data;
  throw problemWith(name, setting, error.issues[0]?.message);
}

/** The secret of a setting or of the file in `NAME_FILE`; undefined when neither is set. Both are a mistake. */
export function readSecret<N extends Name>(
  name: N,
  env?: Environment,
): (() => NonNullable<Value<N>>) | undefined {
  return readSecretRow(name, BY_NAME[name], env);
}

function readSecretRow<V>(name: string, setting: Setting<V>, env: Environment = process.env) {
  const { [name]: value, [`${name}_FILE`]: file } = withoutBlanks(env);
  if (value !== undefined && file !== undefined)
    throw problemWith(name, { fix: 'unset one of them' }, `and ${name}_FILE are both set`);
  if (file !== undefined) return secretFile(`${name}_FILE`, setting, file.trim());
  if (value === undefined) return undefined;
  const secret = parseSecret(name, setting, value);
  return () => secret;
}

/** Reads each setting by itself, so that one mistake does not hide another. */
export const SETTING_READERS = ROWS.map(
  ([name, setting]) =>
    (env: Environment): unknown =>
      setting.isSecret ? readSecretRow(name, setting, env) : readRow(name, setting, env),
);

/** The variables of all settings. */
export const VARIABLES: readonly string[] = ROWS.flatMap(([name, { isSecret }]) =>
  isSecret ? [name, `${name}_FILE`] : [name],
);

/** Our own among them, for those who look for a misspelt one. */
export const SETTING_NAMES = VARIABLES.filter((name) => /^VIDEO(GEN|_API)_/.test(name));
