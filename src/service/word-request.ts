import { describeValue } from '../contract/redact-links';
import { requestSchema, type VideoRequest } from '../contract/request';
import { type RequestRules, type ServiceProfile, type SubmitOperation, VALUE_MARK } from './profile';

/** How a request is worded for a service: where its calls go, and the body of the POST. */

/** The body that a service gets for a request, or why it takes no such request. */
export type MappedRequest = { ok: true; body: object } | { ok: false; field: string; problem: string };

export function operationFor({ image_url }: { image_url?: string | undefined }): SubmitOperation {
  return image_url === undefined ? 'textToVideo' : 'imageToVideo';
}

/** Words a request as the profile says. Without a `request` in the profile, it is sent as the caller wrote it. */
export function mapRequest({ request: rules, name }: ServiceProfile, request: VideoRequest): MappedRequest {
  if (rules === undefined) return { ok: true, body: request };
  const { within, fields, constants } = rulesOf(rules, operationFor(request));
  const given = new Map<string, unknown>(Object.entries(request).filter(([, value]) => value !== undefined));
  const body = new RequestBody();
  for (const [place, value] of constants) body.put(stepsOf(place), value);
  for (const [field, rule] of fields) {
    const written = writeField(field, rule, given, name ?? 'the service');
    if ('problem' in written) return { ok: false, field, problem: written.problem };
    if (written.value !== undefined) body.put(placeOf(field, rule, within), written.value);
    for (const one of [field, ...(rule.with ?? [])]) given.delete(one);
  }
  for (const [field, value] of given) body.put(placeOf(field, {}, within), value);
  return { ok: true, body: body.toJson() };
}

type FieldRule = NonNullable<RequestRules['fields']>[string];

/** What applies to one operation: what it says itself wins over what both share. */
function rulesOf(rules: RequestRules, operation: SubmitOperation) {
  const own = rules[operation] ?? {};
  return {
    within: own.within ?? rules.within,
    fields: new Map([...Object.entries(rules.fields ?? {}), ...Object.entries(own.fields ?? {})]),
    constants: new Map([...Object.entries(rules.constants ?? {}), ...Object.entries(own.constants ?? {})]),
  };
}

/** The value that is sent for a field, undefined for none. */
function writeField(
  field: string,
  { to, with: more = [], values, as, default: usual }: FieldRule,
  request: ReadonlyMap<string, unknown>,
  service: string,
): { value: unknown } | { problem: string } {
  const names = [field, ...more].filter((name) => request.has(name));
  if (names.length === 0) return { value: usual };
  if (to === null) return { problem: `${field} is not taken by ${service}: leave it out` };
  const given = names.map((name) => request.get(name));
  if (values === undefined && as === undefined) return { value: given[0] };
  if (given.some((value) => typeof value === 'object'))
    return { problem: `${names.join(' and ')} must be a text or a number for ${service}` };
  const text = given.join(' ');
  if (values === undefined) return { value: as?.replaceAll(VALUE_MARK, () => text) };
  if (Object.hasOwn(values, text)) return { value: values[text] };
  const was = describeValue(given.length === 1 ? given[0] : text);
  const known = Object.keys(values).join(', ');
  return { problem: `${names.join(' and ')} must be one of ${known} for ${service} (was ${was})` };
}

/** A key of an object, or the index of a list. */
type Step = string | number;

/** `instances[0].prompt` is instances, 0, prompt. */
function stepsOf(place: string): Step[] {
  return place.split('.').flatMap((part): Step[] => {
    const [, key = part, index] = /^(.*)\[(\d+)\]$/.exec(part) ?? [];
    return index === undefined ? [key] : [key, Number(index)];
  });
}

/** The name of a field without a place of its own is one key, whatever is in it. */
function placeOf(field: string, { to }: FieldRule, within: string | undefined): Step[] {
  if (typeof to === 'string') return stepsOf(to);
  return [...(within === undefined ? [] : stepsOf(within)), field];
}

/** A JSON body that is filled place by place. Its objects have no prototype, so that no key has a meaning of its own. */
class RequestBody {
  private readonly root: object = Object.create(null);
  /** Those made here. Values of the caller may be objects too, and stay as they are. */
  private readonly made = new Set<unknown>([this.root]);

  /** Whether there was room for the value: a place holds one value, and a list no keys. */
  put(steps: readonly Step[], value: unknown): boolean {
    let holder = this.root;
    for (const [index, step] of steps.entries()) {
      const next = steps[index + 1];
      if (Array.isArray(holder) !== (typeof step === 'number')) return false;
      if (Reflect.get(holder, step) === undefined) {
        const inner = typeof next === 'number' ? [] : Object.create(null);
        if (next !== undefined) this.made.add(inner);
        Reflect.set(holder, step, next === undefined ? value : inner);
      } else if (next === undefined || !this.made.has(Reflect.get(holder, step))) return false;
      holder = Reflect.get(holder, step);
    }
    return true;
  }

  /** Entries of a list that got no value are left out, and the later ones move up. */
  toJson(): object {
    for (const one of this.made) if (Array.isArray(one)) one.splice(0, one.length, ...one.filter(() => true));
    return this.root;
  }
}

/** What is wrong with a `request` that only shows when a whole body is filled. Each follows `request`. */
export function requestProblems({ request, requestFields = [] }: ServiceProfile): string[] {
  if (request === undefined) return [];
  const names = [...Object.keys(requestSchema.shape), ...requestFields];
  return (['textToVideo', 'imageToVideo'] as const).flatMap((operation) => {
    const { within, fields, constants } = rulesOf(request, operation);
    const body = new RequestBody();
    const others = new Set(names);
    const problems: string[] = [];
    const take = (name: string, place: readonly Step[]) => {
      if (!body.put(place, name))
        problems.push(`sends two values to ${place.join('.')}, one of them ${name}`);
    };
    for (const place of constants.keys()) take('a constant', stepsOf(place));
    for (const [field, rule] of fields) {
      for (const one of [field, ...(rule.with ?? [])]) {
        if (others.delete(one)) continue;
        problems.push(
          names.includes(one)
            ? `names ${one} twice, under its own name and in with`
            : `names ${one}, which is not a field of a request: add it to requestFields, or correct it`,
        );
      }
      if (rule.to !== null) take(field, placeOf(field, rule, within));
    }
    if (operation === 'textToVideo') others.delete('image_url');
    for (const name of others) take(name, placeOf(name, {}, within));
    return problems;
  });
}

const TASK_PATH = '/v1/videos/{taskId}';

/** At the beginning of ids of tasks from images, at services that poll them at a path of their own. */
const IMAGE_MARK = 'image-to-video:';

/** The id under which a new task is known to its job. */
export function markTask({ paths }: ServiceProfile, request: VideoRequest, taskId: string): string {
  const isMarked = typeof paths?.task === 'object' && operationFor(request) === 'imageToVideo';
  return isMarked ? IMAGE_MARK + taskId : taskId;
}

/** The ids under which a job may know a task that the service names. */
export function idsInJobs(taskId: string): string[] {
  return [taskId, IMAGE_MARK + taskId];
}

/** The id that the service knows. Where one path polls all tasks, it is the service's own, whatever it begins with. */
export function unmarkedId({ paths }: ServiceProfile, taskId: string): string {
  return typeof paths?.task === 'object' && taskId.startsWith(IMAGE_MARK)
    ? taskId.slice(IMAGE_MARK.length)
    : taskId;
}

/** Where a task is polled. */
export function taskPathOf(profile: ServiceProfile, taskId: string): string {
  const { task = TASK_PATH } = profile.paths ?? {};
  const id = unmarkedId(profile, taskId);
  const path = typeof task === 'string' ? task : task[id === taskId ? 'textToVideo' : 'imageToVideo'];
  return fillPath(path, { taskId: id });
}

/** Puts ids in place of `{taskId}` and `{fileId}`; with `{+taskId}`, the slashes of an id stay. */
export function fillPath(path: string, ids: Record<string, string>): string {
  return path.replaceAll(/\{(\+?)(taskId|fileId)\}/g, (mark, plus: string, name: string) => {
    const id = ids[name];
    if (id === undefined) return mark;
    return plus === '' ? escapeSegment(id) : id.split('/').map(escapeSegment).join('/');
  });
}

/** Escapes `.` and `..` too: as path segments they would name another resource. */
function escapeSegment(segment: string): string {
  return /^\.+$/.test(segment) ? segment.replaceAll('.', '%2E') : encodeURIComponent(segment);
}
