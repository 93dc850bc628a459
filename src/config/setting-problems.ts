import { readWebhookConfig } from './operation-config';
import { ConfigError, type Environment } from './read-setting';
import { namesAService, readApiKey } from './service-config';
import { SETTING_READERS } from './settings';
import { readDeploymentVersion, readTemporalConfig } from './temporal-config';

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
