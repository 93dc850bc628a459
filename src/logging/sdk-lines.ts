import { fromTemporalType } from '../contract/failure-table';
import type { LogLevel } from '../contract/log-events';

type Fields = Record<string, unknown>;

/** Lines of the SDK that say what a line of ours says, or that say nothing to the operator of a worker. They become `debug`. */
const QUIETER: readonly ((message: string, fields: Fields) => boolean)[] = [
  // A worker for submits has none.
  (message) => message.startsWith('No workflows registered'),
  // Its state, its options, its bundle.
  (_, { level, sdkComponent }) => level === 'info' && (sdkComponent === 'worker' || sdkComponent === 'core'),
  // `failed` and `cancelled` say why, and what to do.
  (message, { error }) => message === 'Workflow failed' && isOurs(error),
  // `pollsFailing` says it once.
  (message, { activityType }) => message === 'Activity failed' && activityType === 'pollVideo',
];

/** The level at which a line is logged. Lines of ours have an `event`, and keep the level of their table. */
export function levelOf(level: LogLevel, message: string, fields: Fields = {}): LogLevel {
  if (fields.event !== undefined || level === 'trace') return level;
  return QUIETER.some((isQuieter) => isQuieter(message, { ...fields, level })) ? 'debug' : level;
}

function isOurs(error: unknown): boolean {
  const { type }: { type?: unknown } = Object(error);
  return fromTemporalType(type) !== undefined;
}
