import { existsSync, readFileSync } from 'node:fs';
import { type Ledger, type LedgerTask, postsFile, SERVICES, tasksFile, videosFile } from './ledger';

/** What the services have written down. A line that a kill cut off was never answered. */
export function readLedger(folder: string): Ledger {
  const tasks = SERVICES.flatMap((service): LedgerTask[] => {
    // The last line of a task counts.
    const last = new Map(linesOf(tasksFile(folder, service)).map((line) => [String(line.taskId), line]));
    return [...last].map(([taskId, { request, idempotencyKey: key, submittedAtMs: atMs, failure }]) => ({
      service,
      taskId,
      prompt: request.prompt,
      key,
      atMs,
      failed: failure !== undefined,
    }));
  });
  const videos = linesOf(videosFile(folder)).map(({ taskId, sha256 }): [string, string] => [taskId, sha256]);
  return { posts: linesOf(postsFile(folder)) as Ledger['posts'], tasks, videos: new Map(videos) };
}

// biome-ignore lint/suspicious/noExplicitAny: the lines are our own.
function linesOf(file: string): Record<string, any>[] {
  if (!existsSync(file)) return [];
  return readFileSync(file, 'utf8')
    .split('\n')
    .flatMap((line) => {
      try {
        return line === '' ? [] : [JSON.parse(line)];
      } catch {
        return [];
      }
    });
}
