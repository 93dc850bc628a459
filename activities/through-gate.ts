import type { Call } from '../src/contract/failure-table';
import { type CallOutcome, type Entry, type RateGate, ServiceFault } from '../src/service';
import { followSkippedTime } from './skipped-time';
import { failureOf } from './to-failure';

/** Makes one call if the gate lets it through, and tells the gate whether the service found it one too many. */
export async function throughGate<T>(gate: RateGate, call: Call, work: () => Promise<T>): Promise<T> {
  const entry = await enter(gate, call);
  if (!entry.open) {
    throw failureOf('RateLimited', call, {
      message: 'nothing was sent, because the service has just asked for fewer requests',
      retryAfter: entry.waitMs / 1_000,
    });
  }
  try {
    const answer = await work();
    entry.leave({ kind: 'passed' });
    return answer;
  } catch (error) {
    const outcome = learntFrom(error);
    entry.leave(outcome);
    // What the server skips after this attempt is to be known from what its clock shows now.
    if (outcome.kind === 'limited') await followSkippedTime(gate);
    throw error;
  }
}

async function enter(gate: RateGate, call: Call): Promise<Entry> {
  const entry = gate.enter(call);
  if (entry.open || !(await followSkippedTime(gate))) return entry;
  return gate.enter(call);
}

/** Whether there is room is told by a refusal for that reason and by a success, and by nothing else. */
function learntFrom(error: unknown): CallOutcome {
  if (!(error instanceof ServiceFault && error.facts.limited)) return { kind: 'nothing-learnt' };
  return { kind: 'limited', retryAfterMs: error.facts.retryAfterMs };
}
