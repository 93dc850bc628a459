import { CAP_SETTINGS } from './caps-config';
import { GATEWAY_SETTINGS } from './gateway-config';
import { OPERATION_SETTINGS, readWebhookConfig } from './operation-config';
import { QUEUE_SETTINGS } from './queues';
import { secretIfSet } from './read-files';
import { ConfigError, type Environment, readSetting, type SettingGroup } from './read-setting';
import { namesAService, readApiKey, SERVICE_SETTINGS } from './service-config';
import { SERVICES_SETTINGS } from './services-config';
import { STORAGE_SETTINGS } from './storage-config';
import {
  LOCAL_SETTINGS,
  readDeploymentVersion,
  readTemporalConfig,
  TEMPORAL_SETTINGS,
} from './temporal-config';

/** Every setting there is, in the order of the configuration page. */
export const SETTINGS = {
  'Video service': { ...SERVICE_SETTINGS, ...SERVICES_SETTINGS },
  'Task queues': QUEUE_SETTINGS,
  Storage: STORAGE_SETTINGS,
  Caps: CAP_SETTINGS,
  Gateway: GATEWAY_SETTINGS,
  Operation: OPERATION_SETTINGS,
  Temporal: TEMPORAL_SETTINGS,
  'Temporal servers on this machine': LOCAL_SETTINGS,
} satisfies Record<string, SettingGroup>;

const ROWS = Object.values<SettingGroup>(SETTINGS).flatMap((group) => Object.entries(group));

/** The variables of all settings. */
export const VARIABLES: readonly string[] = ROWS.flatMap(([name, { isSecret }]) =>
  isSecret ? [name, `${name}_FILE`] : [name],
);

/** Our own among them, for those who look for a misspelt one. */
export const SETTING_NAMES = VARIABLES.filter((name) => /^VIDEO(GEN|_API)_/.test(name));

/** Rules about more than one setting, and about files that they name. */
const COMBINED: readonly ((env: Environment) => unknown)[] = [
  (env) => namesAService(env) && readApiKey(env),
  readDeploymentVersion,
  readTemporalConfig,
  readWebhookConfig,
];

/** What is wrong with the settings, a line each. Each is read by itself, so that one mistake does not hide another. */
export function settingProblems(env: Environment): string[] {
  const each = ROWS.map(
    ([name, setting]) =>
      () =>
        setting.isSecret ? secretIfSet(name, setting, env) : readSetting(name, setting, env),
  );
  const combined = COMBINED.map((read) => () => read(env));
  return [...new Set([...each, ...combined].flatMap(problemOf))];
}

function problemOf(read: () => unknown): string[] {
  try {
    read();
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return [error.message];
    throw error;
  }
}
