import type { AnswerSample } from '../../src/service/propose-profile';

/** A recorded answer with this body. */
export const sample = (body: unknown, rest: Partial<AnswerSample> = {}): AnswerSample => ({
  status: 200,
  body: JSON.stringify(body),
  ...rest,
});
