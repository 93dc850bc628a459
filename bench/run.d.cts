import type { Report } from './report.cjs';

export interface Section {
  section: string;
  scripts: Script[];
  runsBeside?: boolean;
}

export interface Script {
  file: string;
  limitSeconds: number;
  full?: { args?: string[]; env?: Record<string, string> };
  quick?: { args?: string[]; env?: Record<string, string> };
  read?(measured: unknown): unknown;
}

export interface MeasureOptions {
  isQuick?: boolean;
  scriptFolder?: string;
  /** Gets each section's table. */
  print?(text: string): void;
  onProgress?(line: string): void;
}

export function chosenSections(only?: string): Section[];
export function measure(sections: Section[], options?: MeasureOptions): Promise<Report>;
