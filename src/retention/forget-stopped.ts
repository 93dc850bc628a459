/** A part could not be removed. Everything that finds the rest again is still there. */
export class ForgetStopped extends Error {
  override readonly name = 'ForgetStopped';
}
