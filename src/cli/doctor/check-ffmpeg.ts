import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { readFfmpeg } from '../../config/extras-config';
import { cleanText } from '../../contract';
import { type Check, failed, ok } from './check';
import { CALL_LIMIT_MS } from './limits';

const run = promisify(execFile);
const LONGEST_VERSION_CHARS = 60;

/** Only jobs with extras, and those that continue from another job, need it. */
export const checkFfmpeg: Check = {
  name: 'ffmpeg',
  async run({ env }, signal) {
    const ffmpeg = readFfmpeg(env);
    if (ffmpeg === undefined)
      return ok('not installed; only extras and continueFrom need it, on the machines of the workers');
    try {
      const { stdout } = await run(ffmpeg, ['-version'], { signal, timeout: CALL_LIMIT_MS, env: {} });
      const version = /^ffmpeg version (\S+)/.exec(stdout)?.[1];
      if (version !== undefined) return ok(`${ffmpeg}, version ${cleanText(version, LONGEST_VERSION_CHARS)}`);
    } catch {
      signal.throwIfAborted();
    }
    return failed(
      `${ffmpeg} does not say its version`,
      'Install ffmpeg again, or name another one with VIDEOGEN_FFMPEG.',
    );
  },
};
