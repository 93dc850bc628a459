/** A section, or a part of it, as a script of the bench measured it. */
export interface Part {
  title: string;
  ratioTo?: { row: string; value: string };
  rows: { name: string; ours?: boolean; values: Record<string, number>; ratio?: number }[];
  notes: string[];
}

type Costs = { polls: number; events: number; workflowTasks: number; actions: number; bytes: number };
type Started = { firstPollMs: number; rssMb: number };

export function readPolls(measured: {
  polls: { name: string; polls: number; lagSeconds: number; costToOptimum: number }[];
}): Part;
export function readThroughput(measured: {
  results: Record<string, { label: string; jobs: number; perSecond: number }>;
}): Part;
export function readStart(measured: {
  worker: Started;
  bare: Started;
  help: { ms: number };
  node: { ms: number };
}): Part;
export function readWaitingJobs(measured: {
  memory: { idleMb: number; rows: { jobs: number; rssMb: number; kbAJob: number }[] };
  cached: { workerMs: number };
  evicted: { workerMs: number };
}): Part;
export function readPollsCost(measured: { jobs: ({ jobTime: string; way: string } & Costs)[] }): Part;
