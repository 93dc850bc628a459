import { isWebhookSecret, WEBHOOK_SECRET_RULE, type WebhookOptions } from '../service';
import { secretIfSet } from './read-files';
import {
  type Environment,
  HOSTS_FIX,
  hosts,
  httpUrl,
  problemWith,
  readerOf,
  type SettingGroup,
  text,
} from './read-setting';

/** Its value is never shown. */
const secret = text.refine(isWebhookSecret, WEBHOOK_SECRET_RULE);

export const WEBHOOK_SETTINGS = {
  VIDEOGEN_WEBHOOK_SECRET: {
    type: secret.optional(),
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
} satisfies SettingGroup;

const read = readerOf(WEBHOOK_SETTINGS);

/** How a worker sends webhooks; undefined when it has no secret and so sends none. */
export function readWebhookConfig(env?: Environment): WebhookOptions | undefined {
  const url = read('VIDEOGEN_WEBHOOK_URL', env);
  const allow = read('VIDEOGEN_WEBHOOK_ALLOW', env);
  const setting = WEBHOOK_SETTINGS.VIDEOGEN_WEBHOOK_SECRET;
  const signs = secretIfSet('VIDEOGEN_WEBHOOK_SECRET', setting, env);
  if (signs !== undefined) return { url, allow, secret: signs };
  if (url === undefined) return undefined;
  throw problemWith('VIDEOGEN_WEBHOOK_SECRET', setting, 'is not set, although VIDEOGEN_WEBHOOK_URL is');
}
