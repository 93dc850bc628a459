import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { bundlePath } from './world-workers';

const LONGEST_EVENTS = 60;

/** Our workflows, except that they continue as new after a shorter history: thousands of events take minutes. */
export function shortHistories(): { codePath: string } {
  const { codePath } = fullHistories();
  const shortPath = join(dirname(codePath), `short-histories-${process.pid}.js`);
  let constants = 0;
  const code = readFileSync(codePath, 'utf8').replace(
    /\b(LONGEST(?:_BATCH)?_HISTORY_EVENTS = )\d[\d_]*/g,
    (_all, name: string) => {
      constants += 1;
      return `${name}${LONGEST_EVENTS}`;
    },
  );
  if (constants !== 2)
    throw new Error(`${codePath} has ${constants} limits for the length of a history, not two`);
  writeFileSync(shortPath, code);
  return { codePath: shortPath };
}

/** Our workflows as they are. */
export function fullHistories(): { codePath: string } {
  return { codePath: bundlePath() };
}
