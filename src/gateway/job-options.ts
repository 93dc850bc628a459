import type { FallbackInput } from '../contract/fallback';
import { FALLBACK_FIELDS, JOB_FIELDS } from '../contract/input-rules';
import type { JobOptions } from '../contract/job';
import { badField } from './http-errors';

/** The options of a video: with `services`, those of a job that tries several. */
export type VideoOptions = JobOptions & Partial<Pick<FallbackInput, 'services'>>;

const FIELDS = { ...JOB_FIELDS, ...FALLBACK_FIELDS };

/** The fields that are for the gateway and not for the service, and the job options they become. */
const OPTIONS = [
  ['callback_url', 'callbackUrl'],
  ['service', 'service'],
  ['services', 'services'],
] as const;

/** The body without them, and the options. */
export function takeJobOptions(body: unknown): { body: unknown; options: VideoOptions } {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return { body, options: {} };
  const own = new Set<string>(OPTIONS.map(([param]) => param));
  const rest = Object.fromEntries(Object.entries(body).filter(([name]) => !own.has(name)));
  const options = OPTIONS.flatMap(([param, name]) => {
    const value = listed(param, Reflect.get(body, param));
    if (value === undefined || value === null) return [];
    const { accepts, sentence } = FIELDS[name];
    if (accepts(value)) return [[name, value]];
    throw badField(param, `${param} ${sentence}.`);
  });
  return { body: rest, options: Object.fromEntries(options) };
}

/** A form sends a list as text. */
function listed(param: string, value: unknown): unknown {
  return param === 'services' && typeof value === 'string'
    ? value.split(',').map((name) => name.trim())
    : value;
}
