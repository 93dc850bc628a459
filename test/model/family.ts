import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createVideoActivities, type VideoActivities, type VideoActivityDeps } from '../../activities';
import { type ItemResult, itemName, parseResults, resultsKey } from '../../src/contract/batch';
import {
  BATCH_WORKFLOW_TYPE,
  childName,
  FALLBACK_WORKFLOW_TYPE,
  WORKFLOW_TYPE,
} from '../../src/contract/names';
import { createFileStorage } from '../../src/storage';
import type { Plan } from './drive';
import type { Note } from './notes';
import { cancelTogether, PlayedWorkflow, type ServerClock } from './played-workflow';
import type { BatchScript, FallbackScript, JobScript, NamedTask, Script, TimedDeed } from './script';
import { type JobSpec, type PlayedJob, requestOf, ScriptedJob } from './scripted-job';

/** The key of the file with the requests, in the storage of a batch. */
const REQUESTS_FILE = 'requests.jsonl';

/** All that happened to the workflows of one script. */
export interface Played<S extends Script = Script> {
  workflowId: string;
  script: S;
  /** The only one, those at the services in order, or the items. */
  jobs: PlayedJob[];
  /** Of the batch or of the fallback. */
  parent: Note[];
  /** The results file of a batch. */
  results: ItemResult[];
  ended: boolean;
}

/** Where the workflows of a script are played. */
interface Place {
  folder: string;
  newClock(): ServerClock;
}

/** The name of the service of a fallback that has this place. */
const serviceAt = (index: number) => `service-${index + 1}`;

/** A batch or a fallback. */
class ScriptedParent extends PlayedWorkflow {
  private readonly made: VideoActivities;

  constructor(workflowId: string, clock: ServerClock, deps: VideoActivityDeps) {
    super(workflowId, clock);
    this.made = createVideoActivities(deps);
  }

  override activities(): VideoActivities {
    return this.made;
  }
}

/** The workflows of one script: a job, or a batch or a fallback with its jobs. */
export class Family {
  private constructor(
    readonly workflowId: string,
    readonly script: Script,
    private readonly jobs: ScriptedJob[],
    private readonly parent: ScriptedParent | undefined,
    private readonly folder: string,
  ) {}

  static async prepare(workflowId: string, script: Script, { folder, newClock }: Place): Promise<Family> {
    const own = join(folder, workflowId);
    await mkdir(own);
    const jobs = await Promise.all(
      specsOf(workflowId, script).map((spec) => ScriptedJob.prepare(spec, own, newClock())),
    );
    if (script.kind === 'job') return new Family(workflowId, script, jobs, undefined, own);
    if (script.kind === 'batch' && script.fromFile)
      await writeFile(join(own, REQUESTS_FILE), linesOf(script));
    const services = Object.fromEntries(jobs.map(({ spec, service }) => [spec.service, service]));
    const parent = new ScriptedParent(workflowId, newClock(), {
      storage: createFileStorage(own),
      ...(script.kind === 'batch' ? { service: jobs[0]?.service } : { services }),
    });
    return new Family(workflowId, script, jobs, parent, own);
  }

  get workflows(): PlayedWorkflow[] {
    return this.parent ? [this.parent, ...this.jobs] : this.jobs;
  }

  get isRunning(): boolean {
    return this.workflows.some(({ isRunning }) => isRunning);
  }

  /** Whether the run of the parent that started a job is over. */
  isOrphan({ parentRunId, workflowId }: PlayedWorkflow): boolean {
    const { parent } = this;
    return parent !== undefined && parent.workflowId !== workflowId && parent.runId !== parentRunId;
  }

  plan(taskQueue: string): Plan {
    const { workflowId, script } = this;
    const deedsOf = (job: string, deeds: TimedDeed[]) => deeds.map((one) => ({ ...one, job }));
    const ofJobs = this.jobs.flatMap(({ spec }) => deedsOf(spec.workflowId, spec.fate.deeds));
    const started = { workflowId, taskQueue };
    switch (script.kind) {
      case 'job':
        return { ...started, workflowType: WORKFLOW_TYPE, input: this.jobInput(script), deeds: ofJobs };
      case 'batch':
        return {
          ...started,
          workflowType: BATCH_WORKFLOW_TYPE,
          input: batchInput(script),
          deeds: [...ofJobs, ...deedsOf(workflowId, script.deeds)],
        };
      case 'fallback':
        return {
          ...started,
          workflowType: FALLBACK_WORKFLOW_TYPE,
          input: fallbackInput(script),
          deeds: [...ofJobs, ...deedsOf(workflowId, script.deeds)],
        };
    }
  }

  private jobInput(script: JobScript): object {
    const [job] = this.jobs;
    const named: Record<JobScript['start'], NamedTask | undefined> = {
      request: undefined,
      adopt: 0,
      'adopt-unknown': 'unknown',
      'adopt-taken': 'taken',
    };
    const task = named[script.start];
    const made = task === undefined ? { request: requestOf(1) } : { taskId: job?.taskId(task) };
    return { ...made, ...optionsOf(script) };
  }

  taskToAdopt(job: string, generation: NamedTask): string {
    return this.jobs.find(({ workflowId }) => workflowId === job)?.taskId(generation) ?? '';
  }

  /** Cancels one of its workflows; with a batch or a fallback, all. */
  async cancel(job: string, send: () => Promise<unknown>): Promise<void> {
    const isParent = this.parent?.workflowId === job;
    const affected = isParent
      ? this.workflows
      : this.workflows.filter(({ workflowId }) => workflowId === job);
    await cancelTogether(affected, send);
  }

  /** Collects what happened, and ends everything. */
  async clear(ended: boolean): Promise<Played> {
    const { workflowId, script } = this;
    const results = await readFile(join(this.folder, resultsKey(workflowId)), 'utf8').then(
      parseResults,
      () => [],
    );
    const jobs = await Promise.all(this.jobs.map((job) => job.clear()));
    await rm(this.folder, { recursive: true, force: true, maxRetries: 5 });
    return { workflowId, script, jobs, parent: this.parent?.notes ?? [], results, ended };
  }
}

function specsOf(workflowId: string, script: Script): JobSpec[] {
  switch (script.kind) {
    case 'job':
      return [{ workflowId, fate: script, seed: 1, start: script.start }];
    case 'batch':
      return script.items.map((fate, index) => ({
        workflowId: itemName(workflowId, index + 1),
        fate,
        seed: index + 1,
        start: 'request',
      }));
    case 'fallback':
      return script.services.map((fate, index) => ({
        workflowId: childName(workflowId, serviceAt(index)),
        fate,
        seed: 1,
        service: serviceAt(index),
        start: 'request',
      }));
  }
}

function optionsOf({ deadlineMs, holdForMs, onLostSubmit, polling }: Script): object {
  return { deadline: deadlineMs, holdFor: holdForMs, onLostSubmit, polling };
}

function batchInput(script: BatchScript): object {
  const { window, onFailure, items, fromFile } = script;
  const requests = fromFile
    ? { requestsFrom: REQUESTS_FILE }
    : { requests: items.map((_, index) => requestOf(index + 1)) };
  return { ...requests, ...optionsOf(script), window, onFailure };
}

function fallbackInput(script: FallbackScript): object {
  const services = script.services.map((_, index) => serviceAt(index));
  return {
    request: requestOf(1),
    ...optionsOf(script),
    services,
    fallbackAfter: script.fallbackAfterMs,
  };
}

function linesOf({ items }: BatchScript): string {
  return items.map((_, index) => `${JSON.stringify(requestOf(index + 1))}\n`).join('');
}
