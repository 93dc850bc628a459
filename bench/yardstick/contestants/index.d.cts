export interface Contestant {
  name: string;
  /** In Markdown. */
  title: string;
  program: string;
  packages?: string[];
  versions?: string[];
  dialect?: string;
  needs?: ('redis' | 'temporal' | 'python')[];
}

export const CONTESTANTS: Contestant[];

/** What could not be run, and why. */
export const NOT_RUN: { title: string; why: string }[];
