import { describeValue } from '../contract/redact-links';
import type { VideoRequest } from '../contract/request';
import type { ServiceProfile } from './profile';
import { ownPlace, partOf, type RequestFieldRule, type SubmitOperation, VALUE_MARK } from './profile-request';
import { RequestBody, stepsOf } from './request-places';

/** The body that a service gets for a request, or why it takes no such request. */
export type MappedRequest = { ok: true; body: object } | { ok: false; field: string; problem: string };

/** The values of a field in a message. A profile may have a row for each of many sizes. */
const MOST_SHOWN_VALUES = 30;

export function operationFor({ image_url }: { image_url?: string | undefined }): SubmitOperation {
  return image_url === undefined ? 'textToVideo' : 'imageToVideo';
}

/** Words a request as the profile says. Without a `request` in the profile, it is sent as the caller wrote it. */
export function mapRequest({ request: rules, name }: ServiceProfile, request: VideoRequest): MappedRequest {
  if (rules === undefined) return { ok: true, body: request };
  const { within, fields, constants } = partOf(rules, operationFor(request));
  const given = new Map<string, unknown>(Object.entries(request).filter(([, value]) => value !== undefined));
  const body = new RequestBody();
  for (const [place, value] of constants) body.put(stepsOf(place), value);
  for (const [field, rule] of fields) {
    const written = writeField(field, rule, given, name ?? 'the service');
    if ('problem' in written) return { ok: false, field, problem: written.problem };
    const place = typeof rule.to === 'string' ? stepsOf(rule.to) : ownPlace(field, within);
    if (written.value !== undefined) body.put(place, written.value);
    for (const one of [field, ...(rule.with ?? [])]) given.delete(one);
  }
  for (const [field, value] of given) body.put(ownPlace(field, within), value);
  return { ok: true, body: body.toJson() };
}

/** The value that is sent for a field, undefined for none. */
function writeField(
  field: string,
  { to, with: more = [], values, as, default: usual }: RequestFieldRule,
  request: ReadonlyMap<string, unknown>,
  service: string,
): { value: unknown } | { problem: string } {
  const names = [field, ...more].filter((name) => request.has(name));
  if (names.length === 0) return { value: usual };
  if (to === null) return { problem: `${field} is not taken by ${service}: leave it out` };
  const given = names.map((name) => request.get(name));
  if (values === undefined && as === undefined) return { value: given[0] };
  if (given.some((value) => typeof value === 'object')) {
    return { problem: `${names.join(' and ')} must be a text or a number for ${service}` };
  }
  const text = given.join(' ');
  if (values === undefined) return { value: (as ?? VALUE_MARK).replaceAll(VALUE_MARK, () => text) };
  return Object.hasOwn(values, text)
    ? { value: values[text] }
    : {
        problem: `${names.join(' and ')} must be one of ${listOf(values)} for ${service} (was ${describeValue(given.length === 1 ? given[0] : text)})`,
      };
}

function listOf(values: object): string {
  const known = Object.keys(values);
  const more = known.length - MOST_SHOWN_VALUES;
  return known.slice(0, MOST_SHOWN_VALUES).join(', ') + (more > 0 ? ` and ${more} more` : '');
}
