/** What `npm run yardstick -- --page` stores. */
export interface YardstickReport {
  measuredOn: string;
  minutes: number;
  seeds: string[];
  versions: Record<string, string>;
  rows: YardstickRow[];
  skipped: { title: string; why: string }[];
}

export interface YardstickRow {
  title: string;
  versions: string[];
  cases: number;
  paid: number;
  delivered: number;
  lost: number;
  paidTwice: number;
  corruptAccepted: number;
  asked: number;
  /** What became of each case, by its name: a word for each seed. */
  words: Record<string, string[]>;
}

export const REPORT: string;
export function pageOf(report: YardstickReport): string;
