import { type ChildProcess, fork } from 'node:child_process';
import { join } from 'node:path';
import { type BrokenFile, breakFile, brokenFile } from '../../media/broken-files';
import { inspect } from '../../media/inspect';
import { FORMS, type Form, isForm, makeVideo } from '../../media/make-video';
import { fc } from '../../support/properties';
import { weighted } from '../hostile';
import type { Target } from '../target';

/** A broken video, or bytes that are none. */
type File = BrokenFile | { bytes: number[]; times: number };

/** How files begin that are read as a video. */
const HEADS = [
  [],
  [0, 0, 0, 24, 0x66, 0x74, 0x79, 0x70],
  [0x1a, 0x45, 0xdf, 0xa3],
  [0x47],
  [0, 0, 0, 1, 0x67],
];

const noVideo = fc
  .tuple(
    fc.constantFrom(...HEADS),
    fc.array(fc.nat(255), { maxLength: 40 }),
    fc.constantFrom(1, 1, 500, 20_000),
  )
  .map(([head, bytes, times]) => ({ bytes: [...head, ...bytes], times }));

const whole = new Map<Form, Buffer>();
let secondReader: ChildProcess | undefined;

/** What another reader makes of a file: `picture`, or why there is none. */
function readAgain(file: Buffer): Promise<string> {
  secondReader ??= fork(join(__dirname, '../second-reader.cjs'), {
    serialization: 'advanced',
    execArgv: ['--max-old-space-size=256'],
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  const reader = secondReader;
  return new Promise((resolve) => {
    const onClose = () => {
      secondReader = undefined;
      resolve('it crashed');
    };
    reader.once('close', onClose);
    reader.once('message', (answer) => {
      reader.off('close', onClose);
      resolve(String(answer));
    });
    reader.send(file);
  });
}

export const videos: Target<File> = {
  inputs: weighted<File>([6, brokenFile], [1, noVideo]),
  plain: { form: 'MP4 of fragments', changes: [] },
  inSuite: 60,
  connects: true,
  // Another process inspects, and a second one if the first may have ended for another reason.
  mostMs: 5_000,
  async open() {
    for (const form of Object.keys(FORMS).filter(isForm)) whole.set(form, await makeVideo(form, 32, 32));
  },
  async feed(file, folder) {
    const bytes =
      'form' in file
        ? breakFile(whole.get(file.form) ?? Buffer.alloc(0), file.changes)
        : Buffer.concat(Array.from({ length: file.times }, () => Buffer.from(file.bytes)));
    const inspection = await inspect(bytes, folder);
    const texts = [JSON.stringify(inspection)];
    if (inspection.kind === 'no-video') return { texts, refused: true };
    const second = await readAgain(bytes);
    return { texts, problems: second === 'picture' ? [] : [`accepted, but for a second reader: ${second}`] };
  },
  async close() {
    secondReader?.kill('SIGKILL');
  },
};
