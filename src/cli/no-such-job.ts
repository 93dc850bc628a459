import { shown } from '../contract/clean-text';

const FORGOTTEN =
  ' Temporal forgets ended jobs after a time, the retention of the namespace; stored videos stay.';

/** Temporal has no job or batch with the name. */
export class NoSuchJob extends Error {
  override readonly name = 'NoSuchJob';

  constructor(workflowId: string, didYouMean = '') {
    super(`There is no job ${shown(workflowId)}.${didYouMean || FORGOTTEN}`);
  }
}
