import type { ProviderName } from '../what-runs';
import { alibaba } from './alibaba';
import { fal } from './fal';
import { google, vertex } from './google';
import type { Imitation } from './imitation';
import { replicate } from './replicate';
import { xai } from './xai';

export { FAL_QUEUE } from './fal';
export type { ImitatedFaults } from './faults';
export { type ImitatedService, type ReceivedCall, startImitatedService } from './imitated-service';
export { type Imitation, stagesOf } from './imitation';

/** The service that each package calls. */
export const IMITATIONS: Record<ProviderName, Imitation> = {
  fal,
  replicate,
  google,
  xai,
  alibaba,
  'google-vertex': vertex,
};
