import { randomBytes } from 'node:crypto';

/** What OpenTelemetry's SDK asks for ids. */
export class PresetIds {
  private preset: { traceId: string; spanId: string } | undefined;

  /** The span that `start` makes gets these ids. */
  using<T>(ids: { traceId: string; spanId: string }, start: () => T): T {
    this.preset = ids;
    try {
      return start();
    } finally {
      this.preset = undefined;
    }
  }

  generateTraceId(): string {
    return this.preset?.traceId ?? randomBytes(16).toString('hex');
  }

  generateSpanId(): string {
    return this.preset?.spanId ?? randomBytes(8).toString('hex');
  }
}
