import { Runtime } from '@temporalio/worker';
import {
  createVideoTestEnvironment,
  type VideoTestEnvironment,
  type VideoTestEnvironmentOptions,
} from '../../src/testing';
import type { VideoWorkerOptions } from '../../src/worker';

export interface CapturedLog {
  level: string;
  message: string;
  meta: unknown;
}

/** Everything that Temporal's worker and our activities and workflows log in this test file. */
export const captured: CapturedLog[] = [];

function capture(level: string) {
  return (message: string, meta?: unknown) => {
    captured.push({ level, message, meta });
  };
}

export function captureLogs(): void {
  Runtime.install({
    logger: {
      log: (level, message, meta) => capture(level)(message, meta),
      trace: capture('TRACE'),
      debug: capture('DEBUG'),
      info: capture('INFO'),
      warn: capture('WARN'),
      error: capture('ERROR'),
    },
    telemetryOptions: { logging: { forward: {}, filter: { core: 'WARN', other: 'WARN' } } },
  });
}

/** The environment of one test file, with the bundle that the whole run shares. */
export async function createEnvironment(
  options: VideoTestEnvironmentOptions = {},
): Promise<VideoTestEnvironment> {
  return createVideoTestEnvironment(options);
}

export function withBundle(options: VideoWorkerOptions = {}): VideoWorkerOptions {
  const codePath = process.env.VIDEOGEN_TEST_BUNDLE;
  if (!codePath) throw new Error('VIDEOGEN_TEST_BUNDLE is not set: the global setup did not run.');
  return { ...options, worker: { workflowBundle: { codePath }, ...options.worker } };
}
