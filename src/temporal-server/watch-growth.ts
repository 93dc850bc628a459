import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';

const MEASURE_EVERY_MS = 200;

/** Reports the size of the largest file below a folder repeatedly. Call the returned function to stop. */
export function watchGrowth(folder: string, onBytes: (bytes: number) => void): () => void {
  let measuring = false;
  const measure = async () => {
    if (measuring) return;
    measuring = true;
    onBytes(await largestFileIn(folder));
    measuring = false;
  };
  const timer = setInterval(() => void measure(), MEASURE_EVERY_MS);
  return () => clearInterval(timer);
}

async function largestFileIn(folder: string): Promise<number> {
  // A file that disappears meanwhile is not the one that grows.
  const files = await readdir(folder, { recursive: true }).catch(() => []);
  const sizes = await Promise.all(
    files.map((file) =>
      stat(join(folder, file)).then(
        (stats) => (stats.isFile() ? stats.size : 0),
        () => 0,
      ),
    ),
  );
  return Math.max(0, ...sizes);
}
