export interface Contestant {
  name: string;
  /** In Markdown. */
  title: string;
  program: string;
  packages?: string[];
  dialect?: string;
}

export const CONTESTANTS: Contestant[];
