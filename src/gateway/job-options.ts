import { lastFrameUrl } from '../contract/continue-from';
import { JOB_FIELDS } from '../contract/input-rules';
import type { JobOptions } from '../contract/job';
import { badField } from './http-errors';
import { isTaskId, workflowIdOf } from './task-names';

/** The fields that are for the gateway and not for the service, and the job options they become. */
const OPTIONS = [
  ['callback_url', 'callbackUrl'],
  ['keep_for', 'keepFor'],
  ['extras', 'extras'],
  ['service', 'service'],
  ['services', 'services'],
] as const;

/** The field that becomes the image of the request. */
const CONTINUE_FROM = 'continue_from';

/** The body without them, and the options. `continue_from` is one of the caller's own videos. */
export function takeJobOptions(body: unknown, caller: string): { body: unknown; options: JobOptions } {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return { body, options: {} };
  const own = new Set<string>([...OPTIONS.map(([param]) => param), CONTINUE_FROM]);
  const rest = Object.fromEntries(Object.entries(body).filter(([name]) => !own.has(name)));
  const options = OPTIONS.flatMap(([param, name]) => {
    const value = listed(param, Reflect.get(body, param));
    if (value === undefined || value === null) return [];
    const { accepts, sentence } = JOB_FIELDS[name];
    if (accepts(value)) return [[name, value]];
    throw badField(param, `${param} ${sentence}.`);
  });
  return { body: { ...rest, ...imageOf(body, caller) }, options: Object.fromEntries(options) };
}

const LISTS: readonly string[] = ['extras', 'services'];

/** A form sends a list as text. */
function listed(param: string, value: unknown): unknown {
  return LISTS.includes(param) && typeof value === 'string'
    ? value.split(',').map((name) => name.trim())
    : value;
}

function imageOf(body: object, caller: string): { image_url?: string } {
  const { image_url: url, input_reference: reference }: { image_url?: unknown; input_reference?: unknown } =
    body;
  const from: unknown = Reflect.get(body, CONTINUE_FROM);
  if (from === undefined || from === null) return {};
  if (typeof from !== 'string' || !isTaskId(from))
    throw badStart('must be the id of a finished video of this key, such as video_0123….');
  if ((url ?? reference) != null)
    throw badStart('and an image both say what to start from: give one of them.');
  return { image_url: lastFrameUrl(workflowIdOf(caller, from)) };
}

const badStart = (problem: string) => badField(CONTINUE_FROM, `${CONTINUE_FROM} ${problem}`);
