import type { Faults } from '../../../../src/testing';
import type { AnswerFault, EmulatedRefusal as ScriptedRefusal } from '../../../../src/testing/faults';
import type { EmulatedTask } from '../../../../src/testing/task-store';
import type { Imitation, Refusal } from './imitation';

/** The faults that calls can meet: those of the emulator, in the words of the service. */
export interface ImitatedFaults {
  submit: AnswerFault | Extract<Faults['submit'], { kind: 'failed-task' | 'refused-content' }>;
  status: AnswerFault;
  /** `expired`: the link is dead from now on, and a new poll answers with another one. */
  download: AnswerFault | { kind: 'expired' };
}

type Queues = { [Call in keyof ImitatedFaults]: ImitatedFaults[Call][] };

/** Faults for the next calls about each prompt, so that jobs at the same time do not meet each other's. */
export class FaultsByPrompt {
  private readonly prompts = new Map<string, Queues>();

  add<Call extends keyof ImitatedFaults>(prompt: string, call: Call, faults: ImitatedFaults[Call][]): void {
    const queues = this.prompts.get(prompt) ?? { submit: [], status: [], download: [] };
    queues[call].push(...faults);
    this.prompts.set(prompt, queues);
  }

  take<Call extends keyof ImitatedFaults>(prompt: string, call: Call): ImitatedFaults[Call] | undefined {
    return this.prompts.get(prompt)?.[call].shift();
  }

  isSpent(): boolean {
    return [...this.prompts.values()].every((queues) =>
      Object.values(queues).every((queue) => queue.length === 0),
    );
  }
}

/** A refusal of a script as the service's own. */
export function refusalOf(fault: ScriptedRefusal): Refusal {
  switch (fault.kind) {
    case 'rate-limited': {
      const { retryAfter } = fault;
      return {
        reason: 'rate-limited',
        ...(typeof retryAfter === 'number' && { retryAfterSeconds: retryAfter }),
      };
    }
    case 'server-error':
      return { reason: 'server-error', status: fault.status };
    case 'refused':
      return { reason: 'wrong-body', status: fault.status, message: fault.message };
  }
}

/** Why the task of a submit will fail, if it will. */
export function failureOf(
  fault: ImitatedFaults['submit'] | undefined,
  policy: Imitation['policy'],
): EmulatedTask['failure'] {
  if (fault?.kind === 'refused-content') {
    const answer = policy[fault.stage];
    return answer?.at === 'task' ? answer.failure : undefined;
  }
  return fault?.kind === 'failed-task' ? { code: fault.code, message: fault.message } : undefined;
}
