import {
  type AnswerReading,
  type HttpAnswer,
  type ReadingRules,
  traceAnswer,
} from '../../src/service/read-answer';

/** A reading without its reasons, for tests of what is read and not of where. */
export function readAnswer(answer: HttpAnswer, rules?: ReadingRules): AnswerReading {
  const { json, taskId, task, said } = traceAnswer(answer, rules);
  return { json, ...(taskId !== undefined && { taskId }), task, said };
}
