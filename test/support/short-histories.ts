import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { bundlePath } from './world-workers';

const LONGEST_EVENTS = 60;

/** Our workflows, except that they continue as new after a shorter history: thousands of events take minutes. */
export function shortHistories(): { codePath: string } {
  return withConstants({
    LONGEST_HISTORY_EVENTS: LONGEST_EVENTS,
    LONGEST_BATCH_HISTORY_EVENTS: LONGEST_EVENTS,
  });
}

/** Our workflows with other values of these constants. */
export function withConstants(values: Record<string, number>): { codePath: string } {
  const codePath = bundlePath();
  const names = Object.keys(values);
  const changedPath = join(dirname(codePath), `${names.join('-').toLowerCase()}-${process.pid}.js`);
  let code = readFileSync(codePath, 'utf8');
  for (const [name, value] of Object.entries(values)) {
    const constant = new RegExp(`\\b(${name} = )\\d[\\d_]*`, 'g');
    const found = code.match(constant)?.length ?? 0;
    if (found !== 1) throw new Error(`${codePath} has ${found} constants ${name}, not one`);
    code = code.replace(constant, `$1${value}`);
  }
  writeFileSync(changedPath, code);
  return { codePath: changedPath };
}
