import { describeDuration } from '../../contract/duration';
import type { ClockReading } from './ask-address';
import { type Check, type Finding, failed, ok } from './check';
import { namedServices } from './named-service';

/** Signed links and certificates tolerate a minute. */
const MAX_DIFFERENCE_MS = 60_000;

export const checkClock: Check = {
  name: 'clock',
  needs: ['service'],
  async run(context) {
    const named = namedServices(context);
    const [service] = named.kind === 'named' ? named.services : [];
    // Temporal's API does not report its time.
    if (service === undefined) return ok('not compared: no video service is configured');
    const answer = await context.addressAnswer(service.baseUrl);
    const clock = answer.kind === 'answered' ? answer.clock : undefined;
    return clock ? judgeClock(clock) : ok('not compared: the service sends no Date header');
  },
};

export function judgeClock({ theirsMs, oursMs }: ClockReading): Finding {
  const differenceMs = Math.abs(oursMs - theirsMs);
  // The Date header has whole seconds.
  if (differenceMs < 2_000) return ok('the same as that of the service');
  const side = oursMs > theirsMs ? 'ahead of' : 'behind';
  const found = `${describeDuration(differenceMs)} ${side} that of the service`;
  return differenceMs <= MAX_DIFFERENCE_MS
    ? ok(found)
    : failed(found, "Set this machine's clock, for example with NTP.");
}
