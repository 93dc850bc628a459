import { Agent, request } from 'undici';
import { codeOf, messageOf } from './described-error';
import { CALL_LIMIT_MS } from './limits';

export type HttpAnswer =
  | { kind: 'answered'; status: number; clock: ClockReading | undefined }
  | { kind: 'silent'; code: string; message: string };

/** The service's time from its Date header, and ours halfway between request and answer. */
export interface ClockReading {
  theirsMs: number;
  oursMs: number;
}

/** Sends one GET without a key, to learn whether the address speaks HTTP and what its clock says. */
export async function askAddress(url: string): Promise<HttpAnswer> {
  const dispatcher = new Agent({ connect: { timeout: CALL_LIMIT_MS } });
  const sentMs = Date.now();
  try {
    const { statusCode, headers, body } = await request(url, {
      dispatcher,
      signal: AbortSignal.timeout(CALL_LIMIT_MS),
    });
    // The body is not read; it ends with its connection.
    body.on('error', () => undefined);
    return { kind: 'answered', status: statusCode, clock: readClock(headers, (sentMs + Date.now()) / 2) };
  } catch (error) {
    return { kind: 'silent', code: String(codeOf(error) ?? ''), message: messageOf(error) };
  } finally {
    await dispatcher.destroy();
  }
}

function readClock(
  headers: Record<string, string | string[] | undefined>,
  oursMs: number,
): ClockReading | undefined {
  const dateMs = Date.parse(String(headers.date));
  if (Number.isNaN(dateMs)) return undefined;
  // A cache repeats an old Date header, and says in Age how old it is.
  const ageMs = Number(headers.age ?? 0) * 1_000;
  return { theirsMs: dateMs + (Number.isFinite(ageMs) ? ageMs : 0), oursMs };
}
