import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { atLength } from './nightly';
import { bundlePath } from './world-workers';

const LONGEST_EVENTS = 120;

/** The workflows as they are, but for the length of history at which they continue as new: thousands of events take minutes. */
export function shortHistories(): { codePath: string } {
  const codePath = bundlePath();
  return { codePath: atLength(shorten(codePath), codePath) };
}

function shorten(codePath: string): string {
  const shortPath = join(dirname(codePath), `short-histories-${process.pid}.js`);
  let constants = 0;
  const code = readFileSync(codePath, 'utf8').replace(
    /\b(LONGEST(?:_BATCH)?_HISTORY_EVENTS = )\d[\d_]*/g,
    (_all, name: string) => {
      constants += 1;
      return `${name}${LONGEST_EVENTS}`;
    },
  );
  if (constants !== 2) throw new Error(`${constants} bounds of a history are in ${codePath}, not two`);
  writeFileSync(shortPath, code);
  return shortPath;
}
