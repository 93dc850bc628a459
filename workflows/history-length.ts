import { workflowInfo } from '@temporalio/workflow';
import { SHORTEST_HISTORY_EVENTS } from '../src/contract/policies';

/** Whether a run had better continue as new: by the number of its events, or by what the server says of their size. */
export function historyIsLong(longestEvents: number): boolean {
  const { continueAsNewSuggested, historyLength } = workflowInfo();
  if (historyLength < SHORTEST_HISTORY_EVENTS) return false;
  return continueAsNewSuggested || historyLength > longestEvents;
}
