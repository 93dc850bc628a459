import { printableJson } from '../contract/clean-text';
import type { Finding } from './doctor/check';
import { CHECKS } from './doctor/checks';
import { createContext } from './doctor/context';
import { findingLines, summaryLine } from './doctor/finding-lines';
import { findingRedactor, reportOf } from './doctor/report';
import { runChecks, type Started } from './doctor/run-checks';
import { EXIT } from './exit-codes';
import type { DoctorOptions } from './options';
import { printLine, type Terminal } from './terminal';
import { untilInterrupted } from './until-interrupted';

/** `videogen doctor`: checks everything that a job needs. It changes nothing and costs nothing. */
export async function doctor(options: DoctorOptions, terminal: Terminal): Promise<number> {
  const context = createContext(terminal.env);
  try {
    const reported = reportInOrder(runChecks(CHECKS, context), options, terminal);
    const findings = await Promise.race([reported, untilInterrupted(terminal)]);
    if (findings === undefined) return EXIT.interrupted;
    const report = reportOf(findings);
    if (options.json) terminal.out(printableJson(report));
    return report.ok ? EXIT.ok : EXIT.usage;
  } finally {
    await context.close();
  }
}

/** Prints each finding as soon as it and those before it are known: to stdout, or to stderr with `--json`. */
async function reportInOrder(started: Started[], { json }: DoctorOptions, terminal: Terminal) {
  const line = (text: string) => (json ? printLine(terminal, text) : terminal.out(text));
  const redact = findingRedactor(terminal.env);
  const findings: { name: Started['name']; finding: Finding }[] = [];
  for (const { name, finding: pending } of started) {
    const finding = redact(await pending);
    findings.push({ name, finding });
    findingLines(name, finding, terminal.columns()).forEach(line);
  }
  line(summaryLine(findings.map(({ finding }) => finding)));
  return findings;
}
