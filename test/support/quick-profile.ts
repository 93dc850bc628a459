import { join } from 'node:path';
import type { ServiceProfile } from '../../src/service';
import { emulatedTimes } from '../../src/testing/emulator';

/** A setting for programs that call an emulator whose tasks are ready at once: nothing would poll a real service so soon. */
export const QUICK_PROFILE = { VIDEOGEN_PROFILE: join(__dirname, 'quick-profile.json') };

/** Where waiting takes real time, jobs are polled when the emulator has made their videos. */
export function profileFor(jobTimeMs?: number): ServiceProfile {
  return { polling: { usually: emulatedTimes(jobTimeMs) } };
}
