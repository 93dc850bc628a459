import { durationMs } from '../src/contract/duration';
import type { PollBounds } from '../src/contract/job';
import type { ServiceProfile } from '../src/service';

/** How often the service wants to be asked, for a workflow, which knows no profile. */
export function pollBounds({ polling }: ServiceProfile = {}): { polling?: PollBounds } {
  return polling ? { polling: { min: durationMs(polling.min), max: durationMs(polling.max) } } : {};
}
