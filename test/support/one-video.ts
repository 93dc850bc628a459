import { readPage, sectionOf } from './docs-page';

/** As many as one can read in an hour. */
export const MOST_FILES = 22;

/** The files that the page about the architecture walks one video through. */
export function filesOfOneVideo(): { file: string; sentence: string }[] {
  const lines = sectionOf(readPage('architecture.md'), 'One video through the code').matchAll(
    /^\d+\. `([\w./-]+[.]ts)`:? (.+)$/gm,
  );
  return [...lines].map(([, file = '', sentence = '']) => ({ file, sentence }));
}
