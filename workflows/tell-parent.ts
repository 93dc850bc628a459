import { CancellationScope, getExternalWorkflowHandle, workflowInfo } from '@temporalio/workflow';
import type { ChildNews } from '../src/contract/fallback';
import { CHILD_NEWS_SIGNAL, MADE_FOR_MEMO } from '../src/contract/names';

/** Whether a batch or a fallback started this job: then it tells that one its news, and sends no webhooks of its own. */
export function madeFor(): 'batch' | 'fallback' | undefined {
  const { parent, memo } = workflowInfo();
  const recorded = parent && memo?.[MADE_FOR_MEMO];
  return recorded === 'batch' || recorded === 'fallback' ? recorded : undefined;
}

/** Tells the batch or the fallback that started this job; a job alone tells nobody. A batch is told of holds only. */
export function tellParent(news: Omit<ChildNews, 'name'>): void {
  const { parent, workflowId: name } = workflowInfo();
  const kind = madeFor();
  if (parent === undefined || kind === undefined || (kind === 'batch' && news.hold === undefined)) return;
  // Without the run: it may have continued as new. One that has ended needs no news.
  void CancellationScope.nonCancellable(() =>
    getExternalWorkflowHandle(parent.workflowId).signal(CHILD_NEWS_SIGNAL, { name, ...news }),
  ).catch(() => undefined);
}
