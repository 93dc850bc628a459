import type { LogLevel } from '../contract/log-events';
import type { EncryptionKeyRing } from '../encryption/key-ring';
import type { WebhookOptions } from '../service';
import { ConfigError, type Environment, problemWith } from './read-setting';
import { namesAService, readApiKey } from './service-config';
import { DEFAULT_MONITOR_HOST, type MonitorAddress } from './setting-forms';
import { readSecret, readSetting, SETTING_READERS, SETTINGS } from './settings';
import { readDeploymentVersion, readTemporalConfig } from './temporal-config';

/** How a worker sends webhooks; undefined when it has no secret and so sends none. */
export function readWebhookConfig(env?: Environment): WebhookOptions | undefined {
  const url = readSetting('VIDEOGEN_WEBHOOK_URL', env);
  const allow = readSetting('VIDEOGEN_WEBHOOK_ALLOW', env);
  const secret = readSecret('VIDEOGEN_WEBHOOK_SECRET', env);
  if (secret !== undefined) return { url, allow, secret };
  if (url === undefined) return undefined;
  throw problemWith(
    'VIDEOGEN_WEBHOOK_SECRET',
    SETTINGS.Operation.VIDEOGEN_WEBHOOK_SECRET,
    'is not set, although VIDEOGEN_WEBHOOK_URL is',
  );
}

/** Where the monitor listens: as given, `false` for nowhere, or else as the environment says. Undefined for nowhere. */
export function monitorAddress(
  given: MonitorAddress | false | undefined,
  env?: Environment,
): Required<MonitorAddress> | undefined {
  if (given === false) return undefined;
  if (given !== undefined) return { host: DEFAULT_MONITOR_HOST, ...given };
  return readSetting('VIDEOGEN_MONITOR_PORT', env);
}

/** How a process logs. The level is that of the command unless it is set. */
export function readLogConfig(
  { level, isTerminal }: { level: LogLevel; isTerminal: boolean },
  env?: Environment,
): { level: LogLevel; format: 'json' | 'pretty' } {
  const format = readSetting('VIDEOGEN_LOG_FORMAT', env);
  return {
    level: readSetting('VIDEOGEN_LOG_LEVEL', env) ?? level,
    format: format === 'auto' ? (isTerminal ? 'pretty' : 'json') : format,
  };
}

/** The keys that encrypt payloads; undefined when there are none. They are read once: new keys need a restart. */
export function readEncryptionKeys(env?: Environment): EncryptionKeyRing | undefined {
  return readSecret('VIDEOGEN_ENCRYPTION_KEYS', env)?.();
}

const READERS: readonly ((env: Environment) => unknown)[] = [
  ...SETTING_READERS,
  // Rules about more than one setting, and about files that they name.
  (env) => namesAService(env) && readApiKey(env),
  readDeploymentVersion,
  readTemporalConfig,
  readWebhookConfig,
];

/** What is wrong with the settings, a line each. */
export function settingProblems(env: Environment): string[] {
  const problems = READERS.flatMap((read) => {
    try {
      read(env);
      return [];
    } catch (error) {
      if (error instanceof ConfigError) return [error.message];
      throw error;
    }
  });
  return [...new Set(problems)];
}
