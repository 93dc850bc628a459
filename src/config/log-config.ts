import { z } from 'zod';
import { LOG_LEVELS, type LogLevel } from '../contract/log-events';
import { type Environment, quoted, readerOf, type SettingGroup, text } from './read-setting';

export const LOG_SETTINGS = {
  VIDEOGEN_LOG_LEVEL: {
    type: text.toLowerCase().pipe(z.enum(LOG_LEVELS, quoted)).optional(),
    meaning:
      'The least important lines that are logged: `debug` has a line for every poll. [More](observability.md#logs)',
    unset: '`info`; `error` for `generate` and `batch`',
    fix: `give one of ${LOG_LEVELS.join(', ')}`,
  },
  VIDEOGEN_LOG_FORMAT: {
    type: text
      .toLowerCase()
      .pipe(z.enum(['auto', 'json', 'pretty'], quoted))
      .default('auto'),
    meaning:
      '`json` for a JSON object a line, `pretty` for people, `auto` for `pretty` on a terminal alone. [More](observability.md#logs)',
    fix: 'give one of auto, json, pretty',
  },
} satisfies SettingGroup;

const read = readerOf(LOG_SETTINGS);

export interface LogConfig {
  level: LogLevel;
  format: 'json' | 'pretty';
}

/** How a process logs. The level is that of the command unless it is set. */
export function readLogConfig(
  { level, isTerminal }: { level: LogLevel; isTerminal: boolean },
  env?: Environment,
): LogConfig {
  const format = read('VIDEOGEN_LOG_FORMAT', env);
  return {
    level: read('VIDEOGEN_LOG_LEVEL', env) ?? level,
    format: format === 'auto' ? (isTerminal ? 'pretty' : 'json') : format,
  };
}
