import { existsSync, readFileSync } from 'node:fs';

/** What the video service of a run writes down, and what the judge and the operator read: nothing of the product is in it. */

export const SERVICES = ['alpha', 'beta'] as const;
export type ServiceName = (typeof SERVICES)[number];

/** A POST that was answered, or whose caller was left without an answer. */
export interface LedgerPost {
  service: ServiceName;
  atMs: number;
  prompt: string;
  key: string | undefined;
  authorized: boolean;
  /** Missing when the answer was lost on purpose. */
  status?: number;
}

/** A task, which somebody pays for. */
export interface LedgerTask {
  service: ServiceName;
  taskId: string;
  prompt: string;
  atMs: number;
}

export interface Ledger {
  posts: LedgerPost[];
  tasks: LedgerTask[];
  /** SHA-256 of the video of each task. */
  videos: Map<string, string>;
}

/** What the receiver of the webhooks got, and how it answered. */
export interface ReceivedWebhook {
  id: string;
  status: number;
  body: { type: string; data: { id: string } };
}

export const postsFile = (folder: string) => `${folder}/posts.jsonl`;
export const tasksFile = (folder: string, service: ServiceName) => `${folder}/${service}-tasks.jsonl`;
export const videosFile = (folder: string) => `${folder}/videos.jsonl`;

/** What the services have written down. A line that a kill cut off was never answered. */
export function readLedger(folder: string): Ledger {
  const tasks = SERVICES.flatMap((service): LedgerTask[] => {
    // The last line of a task counts.
    const last = new Map(linesOf(tasksFile(folder, service)).map((line) => [String(line.taskId), line]));
    return [...last].map(([taskId, { request, submittedAtMs: atMs }]) => {
      return { service, taskId, prompt: request.prompt, atMs };
    });
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
        return [JSON.parse(line)];
      } catch {
        return [];
      }
    });
}
