import { ConfigError } from '../../config/service-config';
import { type Check, type CheckName, type Finding, failed, skipped } from './check';
import type { Context } from './context';
import { messageOf } from './described-error';
import { CHECK_LIMIT_MS } from './limits';

export interface Started {
  name: CheckName;
  /** Never rejects. */
  finding: Promise<Finding>;
}

/** Starts all checks at once. A check that needs another waits for it. */
export function runChecks(
  checks: readonly Check[],
  context: Context,
  limitMs: number = CHECK_LIMIT_MS,
): Started[] {
  const findings = new Map<CheckName, Promise<Finding>>();
  return checks.map((check) => {
    const finding = runAfterNeeds(check, findings, () => runWithin(check, context, limitMs));
    findings.set(check.name, finding);
    return { name: check.name, finding };
  });
}

async function runAfterNeeds(
  { needs = [] }: Check,
  findings: ReadonlyMap<CheckName, Promise<Finding>>,
  run: () => Promise<Finding>,
): Promise<Finding> {
  for (const need of needs) {
    const needed = await findings.get(need);
    if (needed?.state === 'failed' || needed?.state === 'skipped') return skipped(`it needs ${need}`);
  }
  return run();
}

async function runWithin(check: Check, context: Context, limitMs: number): Promise<Finding> {
  const timeout = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const timedOut = new Promise<Finding>((resolve) => {
    timer = setTimeout(() => {
      timeout.abort();
      resolve(
        failed(
          `did not finish within ${limitMs / 1_000} s`,
          'Find out what makes it slow, and run doctor again.',
        ),
      );
    }, limitMs);
  });
  try {
    return await Promise.race([check.run(context, timeout.signal).catch(explain), timedOut]);
  } finally {
    clearTimeout(timer);
  }
}

function explain(error: unknown): Finding {
  if (error instanceof ConfigError) return skipped('it needs settings');
  return failed(
    `could not be checked (${messageOf(error)})`,
    'Fix the problem in the message, and run doctor again.',
  );
}
