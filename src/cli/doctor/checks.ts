import type { Check } from './check';
import { checkClock } from './check-clock';
import { checkKey } from './check-key';
import { checkNamespace } from './check-namespace';
import { checkService } from './check-service';
import { checkSettings } from './check-settings';
import { checkStorage } from './check-storage';
import { checkTemporal } from './check-temporal';
import { checkVersions } from './check-versions';
import { checkWorkers } from './check-workers';

/** Everything that a job needs, in the order of the report. */
export const CHECKS: readonly Check[] = [
  checkVersions,
  checkSettings,
  checkTemporal,
  checkNamespace,
  checkWorkers,
  checkService,
  checkKey,
  checkClock,
  checkStorage,
];
