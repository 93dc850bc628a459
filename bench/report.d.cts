/** What `npm run bench` measured in one run. */
export interface Report {
  measuredOn: string;
  machine: { cores: number; memoryGib: number; cpu: string; system: string };
  versions: Record<string, string>;
  seconds: number;
  sections: ReportSection[];
  skipped: { section: string; why: string }[];
}

/** Each row is a ratio to the row of its peers that has 1. */
export interface ReportSection {
  section: string;
  title: string;
  ratioOf?: string;
  better?: string;
  rows: ReportRow[];
  notes: string[];
  seconds: number;
}

export interface ReportRow {
  name: string;
  ours?: boolean;
  values: Record<string, number | string>;
  ratio?: number;
}
