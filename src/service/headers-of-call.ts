import { operationOf } from './map-request';
import type { ServiceProfile } from './profile';
import type { ServiceAnswer } from './service-options';

/** The headers of the profile for one call: those of all calls, and those of its kind. */
export function headersOfCall(
  { headers = {}, callHeaders = {} }: ServiceProfile,
  call: ServiceAnswer['call'],
  request?: { image_url?: string | undefined },
): Record<string, string> {
  const kind = call === 'submit' ? request && operationOf(request) : call;
  const ofKind = kind === undefined ? {} : (callHeaders[kind] ?? {});
  // In small letters, so that a header of the call replaces the same header of all calls.
  return Object.fromEntries(
    [...Object.entries(headers), ...Object.entries(ofKind)].map(([name, value]) => [
      name.toLowerCase(),
      value,
    ]),
  );
}

/** Every header of the profile, whatever call it is for: what is secret in one is secret everywhere. */
export function allHeaders({
  headers = {},
  callHeaders = {},
}: ServiceProfile): [name: string, value: string][] {
  return [headers, ...Object.values(callHeaders)].flatMap((some) => Object.entries(some ?? {}));
}
