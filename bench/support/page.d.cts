import type { Report } from '../report.cjs';

export const REPORT: string;
export function pageOf(report: Report): string;
export function replacePart(page: string, part: string, name?: string): string;
export function drawReport(report: Report): string;
