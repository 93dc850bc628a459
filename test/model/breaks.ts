import { changeOnce } from './change-once';

/**
 * Deliberate mistakes in what a job carries over to its next run, as changes of the bundled workflows. The model must find
 * each: `npm run model -- --scripts 1000 --seed 7 --break time-held`.
 */
export const BREAKS = {
  'time-held': {
    mistake: 'The time that a job was held counts towards its deadline again.',
    from: 'pastHoldsMs: this.pastHoldsMs || undefined',
    to: 'pastHoldsMs: undefined',
  },
  start: {
    mistake: 'The deadline begins anew with each run.',
    from: 'startedAtMs: this.startedAtMs,',
    to: 'startedAtMs: Date.now(),',
  },
  'service-polling': {
    mistake: 'The bounds that the service sets for polls are forgotten.',
    from: 'servicePolling: this.servicePolling,',
    to: 'servicePolling: undefined,',
  },
  adopted: {
    mistake: 'An adopted task counts as one that the job submitted.',
    from: 'isAdopted: this.isAdopted || undefined',
    to: 'isAdopted: undefined',
  },
  misses: {
    mistake: 'Polls that missed the task or its video are forgotten.',
    from: 'misses: misses.task + misses.video > 0 ? misses : undefined',
    to: 'misses: undefined',
  },
  'usual-times': {
    mistake: 'What the worker has learned about such tasks is forgotten.',
    from: 'usualTimes: this.usualTimes,',
    to: 'usualTimes: undefined,',
  },
};

export type BreakName = keyof typeof BREAKS;

/** The workflows with one mistake. */
export function withBreak(code: string, name: BreakName): string {
  const { from, to } = BREAKS[name];
  return changeOnce(code, from, to);
}
