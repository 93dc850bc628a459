import { ConfigError } from '../../config/service-config';
import { type Check, type CheckName, type Finding, skipped, wrong } from './check';
import type { Context } from './context';
import { wordsOf } from './described-error';
import { CHECK_LIMIT_MS } from './limits';

export interface Started {
  name: CheckName;
  /** Never rejects. */
  finding: Promise<Finding>;
}

/** Starts all checks side by side; those that need another wait for it. */
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
    if (needed?.state === 'wrong' || needed?.state === 'skipped') return skipped(`it needs ${need}`);
  }
  return run();
}

async function runWithin(check: Check, context: Context, limitMs: number): Promise<Finding> {
  const cut = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<Finding>((resolve) => {
    timer = setTimeout(() => {
      cut.abort();
      resolve(
        wrong(`did not end within ${limitMs / 1_000} s`, 'See what makes it so slow here, and ask again.'),
      );
    }, limitMs);
  });
  try {
    return await Promise.race([check.run(context, cut.signal).catch(explain), late]);
  } finally {
    clearTimeout(timer);
  }
}

function explain(error: unknown): Finding {
  if (error instanceof ConfigError) return skipped('it needs settings');
  return wrong(`cannot be told (${wordsOf(error)})`, 'Fix what the message names, and ask again.');
}
