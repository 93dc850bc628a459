import type * as OpenTelemetry from '@opentelemetry/api';
import { errorCode } from '../contract/error-code';
import { recordSpansWith } from './active-span';
import { JobTracing } from './job-tracing';

let opened: JobTracing | undefined;

/**
 * The tracing of this process, through whatever tracer provider it has; undefined if OpenTelemetry is not installed. It
 * installs no provider: that is for the program, or for our own command (start-exporting.ts).
 */
export function openTracing(): JobTracing | undefined {
  if (opened) return opened;
  const api = loadIfInstalled(() => require('@opentelemetry/api') as typeof OpenTelemetry);
  if (api === undefined) return undefined;
  opened = new JobTracing(api);
  recordSpansWith(opened);
  return opened;
}

/** The packages are optional peers. */
export function loadIfInstalled<Module>(load: () => Module): Module | undefined {
  try {
    return load();
  } catch (error) {
    if (errorCode(error) === 'MODULE_NOT_FOUND') return undefined;
    throw error;
  }
}
