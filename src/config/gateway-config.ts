import { secretIfSet } from './read-files';
import { type Environment, httpUrl, listOf, readerOf, type SettingGroup, text } from './read-setting';

/** An origin is a URL without a path; `*` and patterns would let every site in. */
const origins = listOf(
  (origin) => !origin.includes('*') && URL.canParse(origin) && new URL(origin).origin === origin,
  (wrong) => `has ${JSON.stringify(wrong)}, which is not an origin`,
);

/** Without the value: it may be a key in the place of its name. */
const keyNames = listOf(
  (name) => /^[a-z0-9_]{1,63}$/.test(name),
  () => 'has something in it that is not the name of a key',
);

/** Its value is never shown. As `whsec_…` it can also check signatures. */
const hookSecret = text.regex(/^[\x21-\x7e]{20,200}$/, 'is not 20 to 200 ASCII characters without spaces');

export const GATEWAY_SETTINGS = {
  VIDEOGEN_GATEWAY_KEYS_FILE: {
    type: text.optional(),
    meaning:
      'The file with the keys of the gateway: a name, a SHA-256 and the limits of the key on each line. [More](gateway.md#keys)',
    unset: 'no keys: only this machine can connect',
    fix: 'name a file that videogen gateway-key has written, or unset it',
  },
  VIDEOGEN_GATEWAY_URL: {
    type: httpUrl('is not an http(s) URL').optional(),
    meaning:
      'How callers reach the gateway, for the links in its answers. For workers: how the service reaches it, to fetch uploaded images from a folder. [More](downloads-and-storage.md#images)',
    unset: 'the Host header of each call',
    fix: 'give an address such as https://videos.example.com, or unset it',
  },
  VIDEOGEN_TEMPORAL_UI_URL: {
    type: httpUrl('is not an http(s) URL').optional(),
    meaning:
      'Address of the Temporal UI, for `videogen status` and for the links from the page to workflows. [More](cli.md#status)',
    unset: 'no links',
    fix: 'give an address such as http://localhost:8233, or unset it',
  },
  VIDEOGEN_GATEWAY_HOOK_SECRET: {
    type: hookSecret.optional(),
    meaning:
      'The secret in the address `/v1/hooks/SECRET`, which the video service calls when a task has changed. [More](webhooks.md#webhooks-of-the-video-service)',
    unset: 'the gateway takes no webhooks',
    fix: 'make one with: openssl rand -hex 32, or give the whsec_… that the service signs with',
    isSecret: true,
  },
  VIDEOGEN_GATEWAY_CORS_ORIGINS: {
    type: origins.default([]),
    meaning:
      'The origins whose pages may call the gateway from a browser, with commas between them. [More](gateway.md#browsers)',
    unset: 'none: only its own page',
    fix: 'give exact origins such as https://shop.example.com,http://localhost:3000, or unset it',
  },
  VIDEOGEN_GATEWAY_CODEC_KEYS: {
    type: keyNames.default([]),
    meaning:
      'The names of the gateway keys that may have payloads decrypted at `/codec`, with commas between them, for the Temporal UI in `VIDEOGEN_TEMPORAL_UI_URL`. [More](encryption.md#the-temporal-ui)',
    unset: 'the gateway decrypts for nobody',
    fix: 'give names of keys such as ops,alice, or unset it',
  },
} satisfies SettingGroup;

const read = readerOf(GATEWAY_SETTINGS);

/** The address of the Temporal UI, if it is set. */
export function readTemporalUiUrl(env?: Environment): string | undefined {
  return read('VIDEOGEN_TEMPORAL_UI_URL', env);
}

export interface GatewayConfig {
  keysFile: string | undefined;
  publicUrl: string | undefined;
  temporalUiUrl: string | undefined;
  corsOrigins: readonly string[];
  /** The names of the keys that may decrypt. */
  codecKeys: readonly string[];
  /** Of the webhooks that the video service sends. */
  hookSecret: (() => string) | undefined;
}

export function readGatewayConfig(env?: Environment): GatewayConfig {
  const { VIDEOGEN_GATEWAY_HOOK_SECRET: hookSecret } = GATEWAY_SETTINGS;
  return {
    keysFile: read('VIDEOGEN_GATEWAY_KEYS_FILE', env),
    publicUrl: readGatewayUrl(env),
    temporalUiUrl: readTemporalUiUrl(env),
    corsOrigins: read('VIDEOGEN_GATEWAY_CORS_ORIGINS', env),
    codecKeys: read('VIDEOGEN_GATEWAY_CODEC_KEYS', env),
    hookSecret: secretIfSet('VIDEOGEN_GATEWAY_HOOK_SECRET', hookSecret, env),
  };
}

/** Without the slash at its end. */
export function readGatewayUrl(env?: Environment): string | undefined {
  return read('VIDEOGEN_GATEWAY_URL', env)?.replace(/(?<!\/)\/+$/, '');
}
