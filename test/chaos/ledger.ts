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
  key: string | undefined;
  atMs: number;
  failed: boolean;
}

export interface Ledger {
  posts: LedgerPost[];
  tasks: LedgerTask[];
  /** SHA-256 of the video of each task. */
  videos: Map<string, string>;
}

export const postsFile = (folder: string) => `${folder}/posts.jsonl`;
export const tasksFile = (folder: string, service: ServiceName) => `${folder}/${service}-tasks.jsonl`;
export const videosFile = (folder: string) => `${folder}/videos.jsonl`;
