import { activityInfo, Context } from '@temporalio/activity';
import { cleanText } from '../src/contract/clean-text';
import { costOfEstimate, type JobCost, type ReportedCost } from '../src/contract/job-cost';
import { COST_SIGNAL } from '../src/contract/names';
import { REPORT_COST_WITHIN_MS } from '../src/contract/policies';
import { estimateCost } from '../src/contract/prices';
import type { VideoRequest } from '../src/contract/request';
import type { FoundService } from '../src/service';
import { logEvent } from './log-event';

/** What is known of a service without calling it. */
type KnownService = Pick<FoundService, 'choice'> & {
  service: Pick<FoundService['service'], 'address' | 'profile'>;
};

/** The name of the service on the worker or in its profile, or else its host. A service of your own may have none. */
export function serviceNameOf({
  choice,
  service: { profile, address = '' },
}: KnownService): string | undefined {
  return choice?.name ?? profile?.name ?? (URL.canParse(address) ? new URL(address).host : undefined);
}

/** What a request will cost; undefined when the profile has no prices. */
export function estimatedCost(found: KnownService, request: VideoRequest): JobCost | undefined {
  const { prices } = found.service.profile ?? {};
  return prices && costOfEstimate(estimateCost(prices, request), serviceNameOf(found));
}

/** Tells the workflow what the video will cost, while it can still be seen before it is paid for. The job goes on without it. */
export async function reportCost(cost: JobCost): Promise<void> {
  const { workflowExecution } = activityInfo();
  if (workflowExecution === undefined) return;
  const { workflowId, runId } = workflowExecution;
  const reported: ReportedCost = { cost };
  try {
    const { client } = Context.current();
    await client.withDeadline(Date.now() + REPORT_COST_WITHIN_MS, () =>
      client.workflow.getHandle(workflowId, runId).signal(COST_SIGNAL, reported),
    );
  } catch (error) {
    logEvent('costNotReported', { error: cleanText(String(error)) });
  }
}
