import { printableJson } from '../contract';
import type { Finding } from './doctor/check';
import { CHECKS } from './doctor/checks';
import { createContext } from './doctor/context';
import { findingLines, summaryLine } from './doctor/finding-lines';
import { reportOf, secretHider } from './doctor/report';
import { runChecks, type Started } from './doctor/run-checks';
import { EXIT } from './exit-codes';
import type { DoctorOptions } from './options';
import { type Terminal, tell } from './terminal';
import { untilInterrupted } from './until-interrupted';

/** `videogen doctor`: looks at everything a job needs, changes nothing and pays for nothing. */
export async function doctor(options: DoctorOptions, terminal: Terminal): Promise<number> {
  const context = createContext(terminal.env);
  try {
    const told = tellInOrder(runChecks(CHECKS, context), options, terminal);
    const findings = await Promise.race([told, untilInterrupted(terminal)]);
    if (findings === undefined) return EXIT.interrupted;
    const report = reportOf(findings);
    if (options.json) terminal.out(printableJson(report));
    return report.ok ? EXIT.ok : EXIT.usage;
  } finally {
    await context.close();
  }
}

/** Each as soon as it and those above it are known. The lines are the result, unless a program wants JSON. */
async function tellInOrder(started: Started[], { json }: DoctorOptions, terminal: Terminal) {
  const line = (text: string) => (json ? tell(terminal, text) : terminal.out(text));
  const hide = secretHider(terminal.env);
  const findings: { name: Started['name']; finding: Finding }[] = [];
  for (const { name, finding: coming } of started) {
    const finding = hide(await coming);
    findings.push({ name, finding });
    findingLines(name, finding, terminal.columns()).forEach(line);
  }
  line(summaryLine(findings.map(({ finding }) => finding)));
  return findings;
}
