import { type HttpAnswer, type TracedReading, traceAnswer } from '../../src/service/read-answer';
import type { ReadingRules } from '../../src/service/reading-rules';

/** A reading without its paths and doubts. */
export function readAnswer(
  answer: HttpAnswer,
  rules?: ReadingRules,
): Pick<TracedReading, 'json' | 'taskId' | 'task' | 'serviceMessage'> {
  const { json, taskId, task, serviceMessage } = traceAnswer(answer, rules);
  return { json, ...(taskId !== undefined && { taskId }), task, serviceMessage };
}
