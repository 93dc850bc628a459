import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';

const LOOK_EVERY_MS = 200;

/** Tells the size of the largest file below a folder again and again, until the answer is called. */
export function watchGrowth(folder: string, onBytes: (bytes: number) => void): () => void {
  let looking = false;
  const look = async () => {
    if (looking) return;
    looking = true;
    onBytes(await largestFileIn(folder));
    looking = false;
  };
  const timer = setInterval(() => void look(), LOOK_EVERY_MS);
  return () => clearInterval(timer);
}

async function largestFileIn(folder: string): Promise<number> {
  // Whatever goes away meanwhile is not the one that grows.
  const files = await readdir(folder, { recursive: true }).catch(() => []);
  const sizes = await Promise.all(
    files.map((file) =>
      stat(join(folder, file)).then(
        (found) => (found.isFile() ? found.size : 0),
        () => 0,
      ),
    ),
  );
  return Math.max(0, ...sizes);
}
