import { setTimeout as sleep } from 'node:timers/promises';
import { DecisionRefused, type SubmitDecision } from '../../src/contract/lost-submit';
import { seededRandom } from '../../src/testing/seeded-random';
import type { CalledJob } from './callers';
import { readLedger } from './ledger';
import { note, type Programs } from './programs';

/** Longer than the longest stall, and everything that was sent before the hold began has arrived. */
const ARRIVES_WITHIN_MS = 2_000;
const ROUND_MS = 1_000;
const CARELESS_SHARE = 0.2;
const QUERIES_AT_ONCE = 4;
const ANSWERED_WITHIN_MS = 3_000;

export interface Decided {
  /** Tasks of other jobs that it tried to adopt, all of which were refused or are flaws. */
  careless: number;
  flaws: string[];
}

/** Looks for lost submits at the service and decides them, one after the other. Sometimes it takes the task of another job. */
export async function operate(
  programs: Programs,
  called: readonly CalledJob[],
  signal: AbortSignal,
): Promise<Decided> {
  const decided: Decided = { careless: 0, flaws: [] };
  const random = seededRandom(`operator ${programs.plan.seed}`);
  const stallsMs = programs.plan.events.map((event) =>
    event.kind === 'line' && event.trouble.kind === 'stall' ? event.trouble.ms : 0,
  );
  const decideAfterMs = Math.max(...stallsMs) + ARRIVES_WITHIN_MS;
  /** It is careless once with a job, or the job would never end. */
  const wasCareless = new Set<string>();

  const carelessTask = (name: string): string | undefined => {
    if (wasCareless.has(name) || random() > CARELESS_SHARE) return undefined;
    wasCareless.add(name);
    const ended = called.flatMap(({ told, job }) =>
      told?.kind === 'video' && job.interference === undefined ? told.taskId : [],
    );
    return ended[Math.floor(random() * ended.length)];
  };

  const decide = async (name: string, prompt: string): Promise<void> => {
    const job = programs.videos.handle(name);
    const { phase, hold, service } = await job.progress();
    const heldMs = Date.now() - Date.parse(hold?.since ?? '');
    if (phase !== 'needs-decision' || !(heldMs > decideAfterMs)) return;
    const foreign = carelessTask(name);
    if (foreign !== undefined) {
      decided.careless++;
      try {
        await job.decideSubmit({ decision: 'adopt', taskId: foreign });
        decided.flaws.push(`${name} was given the task ${foreign} of another job, which has its video`);
      } catch (error) {
        if (!(error instanceof DecisionRefused)) throw error;
      }
      return;
    }
    // Whoever looks at a service that does not answer sees nothing, and does not decide.
    if (!(await programs.serviceAnswers(ANSWERED_WITHIN_MS))) return;
    const tasks = readLedger(programs.folder).tasks.filter((task) => task.prompt === prompt);
    const task = tasks.find((one) => service === undefined || one.service === service);
    const decision: SubmitDecision = task
      ? { decision: 'adopt', taskId: task.taskId }
      : { decision: 'resubmit' };
    note(programs.folder, `decides ${name}: ${JSON.stringify(decision)}`);
    await job.decideSubmit({ ...decision, ...(hold?.lostSubmit && { lostSubmit: hold.lostSubmit }) });
  };

  while (!signal.aborted) {
    try {
      const held: (() => Promise<void>)[] = [];
      const query = "WorkflowType = 'generateVideo' AND ExecutionStatus = 'Running'";
      for await (const { workflowId, memo } of programs.client.workflow.list({ query })) {
        const { lostSubmitSince, taskId, jobIdentity } = memo ?? {};
        const prompt = Object(Object(jobIdentity).request).prompt;
        if (typeof lostSubmitSince !== 'string' || taskId !== undefined) continue;
        held.push(() =>
          decide(workflowId, String(prompt)).catch((error) =>
            note(programs.folder, `operator, ${workflowId}: ${String(error).slice(0, 200)}`),
          ),
        );
      }
      while (held.length > 0 && !signal.aborted)
        await Promise.all(held.splice(0, QUERIES_AT_ONCE).map((work) => work()));
    } catch (error) {
      note(programs.folder, `operator: ${String(error).slice(0, 200)}`);
    }
    await sleep(ROUND_MS, undefined, { signal }).catch(() => undefined);
  }
  return decided;
}
