import type { Report, ReportSection } from './report.cjs';

export type ClusterReport = Omit<Report, 'sections' | 'skipped'> & {
  section: Omit<ReportSection, 'seconds'>;
};

/** The name of the markers on the page. */
export const PART: string;
export const REPORT: string;
export function partOf(report: ClusterReport): string;
