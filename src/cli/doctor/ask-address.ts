import { Agent, request } from 'undici';
import { codeOf, wordsOf } from './described-error';
import { CALL_LIMIT_MS } from './limits';

export type HttpAnswer =
  | { kind: 'answered'; status: number; clock: ClockReading | undefined }
  | { kind: 'silent'; code: string; message: string };

/** The time that the other side told, and ours halfway between question and answer. */
export interface ClockReading {
  theirsMs: number;
  oursMs: number;
}

/** One GET without a key: it tells whether anything there speaks HTTP, and what time it is there. */
export async function askAddress(url: string): Promise<HttpAnswer> {
  const dispatcher = new Agent({ connect: { timeout: CALL_LIMIT_MS } });
  const askedMs = Date.now();
  try {
    const { statusCode, headers, body } = await request(url, {
      dispatcher,
      signal: AbortSignal.timeout(CALL_LIMIT_MS),
    });
    // It is not read, and ends with its connection.
    body.on('error', () => undefined);
    return { kind: 'answered', status: statusCode, clock: readClock(headers, (askedMs + Date.now()) / 2) };
  } catch (error) {
    return { kind: 'silent', code: String(codeOf(error) ?? ''), message: wordsOf(error) };
  } finally {
    await dispatcher.destroy();
  }
}

function readClock(
  headers: Record<string, string | string[] | undefined>,
  oursMs: number,
): ClockReading | undefined {
  const writtenMs = Date.parse(String(headers.date));
  if (Number.isNaN(writtenMs)) return undefined;
  // A cache repeats the date of the day when it asked, and tells how long ago that was.
  const ageMs = Number(headers.age ?? 0) * 1_000;
  return { theirsMs: writtenMs + (Number.isFinite(ageMs) ? ageMs : 0), oursMs };
}
