import { describeDuration } from '../../contract';
import type { ClockReading } from './ask-address';
import { type Check, type Finding, ok, wrong } from './check';
import { namedService } from './named-service';

/** Signed links and certificates forgive a minute. */
const MOST_APART_MS = 60_000;

export const checkClock: Check = {
  name: 'clock',
  needs: ['service'],
  async run(context) {
    const service = namedService(context);
    // Temporal's interface tells no time.
    if (service.kind === 'none') return ok('not compared: only a video service tells its time');
    const answer = await context.addressAnswer(service.baseUrl);
    const clock = answer.kind === 'answered' ? answer.clock : undefined;
    return clock ? judgeClock(clock) : ok('not compared: the service does not tell its time');
  },
};

export function judgeClock({ theirsMs, oursMs }: ClockReading): Finding {
  const apartMs = Math.abs(oursMs - theirsMs);
  // The service tells whole seconds.
  if (apartMs < 2_000) return ok('the same as that of the service');
  const side = oursMs > theirsMs ? 'ahead of' : 'behind';
  const found = `${describeDuration(apartMs)} ${side} that of the service`;
  return apartMs <= MOST_APART_MS ? ok(found) : wrong(found, "Set this machine's clock: let NTP keep it.");
}
