/** No Temporal server answers where the settings say. */
export class TemporalUnreachable extends Error {
  override readonly name = 'TemporalUnreachable';
}
