import {
  CancellationScope,
  CancelledFailure,
  makeContinueAsNewFunc,
  workflowInfo,
} from '@temporalio/workflow';

/** The same workflow with a fresh history. The memo, which names the task, has to be taken along by hand. */
export async function continueLater<Input, Carried>(input: Input, carried: Carried): Promise<never> {
  // A cancellation that came with the event before this would be left behind, and nobody would know.
  if (CancellationScope.current().consideredCancelled) throw new CancelledFailure('cancelled');
  type Continued = (input: Input, carried: Carried) => Promise<unknown>;
  return makeContinueAsNewFunc<Continued>({ memo: workflowInfo().memo })(input, carried);
}
