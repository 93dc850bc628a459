import { cleanText, printableJson } from '../contract/clean-text';
import { NO_SECRETS, redact } from '../contract/redact';
import { type ProposedRequest, proposeRequest } from '../service';
import type { SavedRequest } from './saved-answers';

/** A request of a service, and how a profile could word it. */
export interface ExplainedRequest {
  name: string;
  proposed: ProposedRequest;
}

const LONGEST_PLACES = 500;

export function explainRequest({ name, body }: SavedRequest): ExplainedRequest {
  return { name, proposed: proposeRequest(body) };
}

/** What of it is known, a line for each of our fields. */
export function requestLines({ name, proposed: { request } }: ExplainedRequest): string[] {
  const fields = Object.entries(request ?? {}).filter(([, value]) => value !== '');
  const lines = fields.map(([field, value]) => `${field.padEnd(12)}  ${redact(String(value), NO_SECRETS)}`);
  return [
    `${name}: a request`,
    ...(lines.length > 0 ? lines : ['nothing is understood']).map((line) => `  ${line}`),
  ];
}

/** What a request with these values is sent as. */
export function mappedLines({ name, proposed: { sent } }: ExplainedRequest): string[] {
  if (sent === undefined) return [];
  const text = printableJson(JSON.parse(redactTexts(JSON.stringify(sent))));
  return [`${name}: sent as`, ...text.split('\n').map((line) => `  ${line}`)];
}

/** The places that a body fills. */
export function placesIn(body: string): string {
  const places: string[] = [];
  const visit = (value: unknown, place: string) => {
    if (typeof value !== 'object' || value === null) {
      places.push(place);
      return;
    }
    for (const [key, inner] of Object.entries(value)) {
      const step = Array.isArray(value) ? `[${key}]` : place === '' ? key : `.${key}`;
      visit(inner, place + step);
    }
  };
  try {
    visit(JSON.parse(body), '');
  } catch {
    return 'a body that is not JSON';
  }
  return cleanText(places.join(', '), LONGEST_PLACES);
}

/** Links lose their signatures, as everywhere in the output. */
function redactTexts(json: string): string {
  return JSON.stringify(JSON.parse(json), (_key, value) =>
    typeof value === 'string' ? redact(value, NO_SECRETS) : value,
  );
}
