import { shown } from '../contract';

/** Temporal has no job or batch with the name. */
export class NoSuchJob extends Error {
  override readonly name = 'NoSuchJob';

  constructor(workflowId: string, similar: readonly string[] = []) {
    const meant = similar.length === 0 ? '' : ` Did you mean ${similar.map(shown).join(', or ')}?`;
    super(
      `There is no job ${shown(workflowId)}.${meant || ' Temporal forgets ended jobs after a time, the retention of the namespace; stored videos stay.'}`,
    );
  }
}
