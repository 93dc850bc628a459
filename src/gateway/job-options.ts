import { JOB_FIELDS } from '../contract/input-rules';
import type { JobOptions } from '../contract/job';
import { Refusal } from './http-errors';

/** The fields that are for the gateway and not for the service, and the job options they become. */
const OPTIONS = [
  ['callback_url', 'callbackUrl'],
  ['keep_for', 'keepFor'],
  ['service', 'service'],
] as const;

/** The body without them, and the options. */
export function takeJobOptions(body: unknown): { body: unknown; options: JobOptions } {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return { body, options: {} };
  const taken: readonly string[] = OPTIONS.map(([param]) => param);
  const rest = Object.fromEntries(Object.entries(body).filter(([name]) => !taken.includes(name)));
  const options = OPTIONS.flatMap(([param, name]) => {
    const value: unknown = Reflect.get(body, param);
    if (value === undefined || value === null) return [];
    const { accepts, sentence } = JOB_FIELDS[name];
    if (accepts(value)) return [[name, value]];
    throw new Refusal({
      status: 400,
      code: 'invalid_request',
      message: `${param} ${sentence}.`,
      param,
    });
  });
  return { body: rest, options: Object.fromEntries(options) };
}
