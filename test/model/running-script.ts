import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createVideoActivities, type VideoActivities } from '../../activities';
import { type ItemResult, itemName, parseResults, resultsKey } from '../../src/contract/batch';
import {
  BATCH_WORKFLOW_TYPE,
  childName,
  FALLBACK_WORKFLOW_TYPE,
  WORKFLOW_TYPE,
} from '../../src/contract/names';
import { createFileStorage } from '../../src/storage';
import type { WorkflowEvent } from './events';
import type { JobScript, NamedTask, Script, TimedAction } from './random-script';
import type { WorkflowStart } from './run-workflows';
import { type JobSpec, type ObservedJob, requestOf, ScriptedJob } from './scripted-job';
import { cancelTogether, ScriptedWorkflow, type ServerClock } from './scripted-workflow';

/** The key of the file with the requests, in the storage of a batch. */
const REQUESTS_FILE = 'requests.jsonl';

/** All that happened to the workflows of one script. */
export interface Observed<S extends Script = Script> {
  workflowId: string;
  script: S;
  /** The only one, those at the services in order, or the items. */
  jobs: ObservedJob[];
  /** Of the batch or of the fallback. */
  parent: WorkflowEvent[];
  /** The results file of a batch. */
  results: ItemResult[];
  ended: boolean;
}

/** A batch or a fallback. */
class ScriptedParent extends ScriptedWorkflow {
  constructor(
    workflowId: string,
    clock: ServerClock,
    private readonly own: VideoActivities,
  ) {
    super(workflowId, clock);
  }

  override activities(): VideoActivities {
    return this.own;
  }
}

/** The workflows of one script while they run: a job, or a batch or a fallback with its jobs. */
export class RunningScript {
  private constructor(
    readonly workflowId: string,
    readonly script: Script,
    private readonly jobs: ScriptedJob[],
    private readonly parent: ScriptedParent | undefined,
    private readonly folder: string,
  ) {}

  static async prepare(
    workflowId: string,
    script: Script,
    { folder, newClock }: { folder: string; newClock(): ServerClock },
  ): Promise<RunningScript> {
    const own = join(folder, workflowId);
    await mkdir(own);
    const jobs = await Promise.all(
      specsOf(workflowId, script).map((spec) => ScriptedJob.prepare(spec, own, newClock())),
    );
    if (script.kind === 'job') return new RunningScript(workflowId, script, jobs, undefined, own);
    if (script.kind === 'batch' && script.fromFile) {
      const lines = script.items.map((_, index) => `${JSON.stringify(requestOf(index + 1))}\n`);
      await writeFile(join(own, REQUESTS_FILE), lines.join(''));
    }
    const services = Object.fromEntries(jobs.map(({ spec, service }) => [spec.service, service]));
    const activities = createVideoActivities({
      storage: createFileStorage(own),
      ...(script.kind === 'batch' ? { service: jobs[0]?.service } : { services }),
    });
    const parent = new ScriptedParent(workflowId, newClock(), activities);
    return new RunningScript(workflowId, script, jobs, parent, own);
  }

  get workflows(): ScriptedWorkflow[] {
    return this.parent ? [this.parent, ...this.jobs] : this.jobs;
  }

  get isRunning(): boolean {
    return this.workflows.some(({ isRunning }) => isRunning);
  }

  /** Whether the run of the parent that started a job is over. */
  isOrphan({ parentRunId, workflowId }: ScriptedWorkflow): boolean {
    const { parent } = this;
    return parent !== undefined && parent.workflowId !== workflowId && parent.runId !== parentRunId;
  }

  start(taskQueue: string): WorkflowStart {
    const { workflowId, script } = this;
    const toJobs = this.jobs.flatMap(({ spec }) => actionsOn(spec.workflowId, spec.script.actions));
    const toParent = this.parent ? actionsOn(workflowId, script.actions) : [];
    const { deadlineMs, holdForMs, onLostSubmit, polling } = script;
    const options = { deadline: deadlineMs, holdFor: holdForMs, onLostSubmit, polling };
    return {
      workflowId,
      taskQueue,
      ...this.typeAndInput(options),
      actions: [...toJobs, ...toParent],
    };
  }

  private typeAndInput(options: object): { workflowType: string; input: object } {
    const { script } = this;
    switch (script.kind) {
      case 'job':
        return { workflowType: WORKFLOW_TYPE, input: { ...this.sourceOf(script), ...options } };
      case 'batch': {
        const { window, onFailure, items, fromFile } = script;
        const requests = fromFile
          ? { requestsFrom: REQUESTS_FILE }
          : { requests: items.map((_, index) => requestOf(index + 1)) };
        return { workflowType: BATCH_WORKFLOW_TYPE, input: { ...requests, ...options, window, onFailure } };
      }
      case 'fallback': {
        const services = script.services.map((_, index) => serviceAt(index));
        const { fallbackAfterMs: fallbackAfter } = script;
        const input = { request: requestOf(1), ...options, services, fallbackAfter };
        return { workflowType: FALLBACK_WORKFLOW_TYPE, input };
      }
    }
  }

  /** The request of a job, or the task that it is started to adopt. */
  private sourceOf({ start }: JobScript): object {
    if (start === 'request') return { request: requestOf(1) };
    const named = { adopt: 0, 'adopt-unknown': 'unknown', 'adopt-taken': 'taken' } as const;
    return { taskId: this.jobs[0]?.taskId(named[start]) };
  }

  taskToAdopt(job: string, task: NamedTask): string {
    return this.jobs.find(({ workflowId }) => workflowId === job)?.taskId(task) ?? '';
  }

  /** Cancels one of its workflows; with a batch or a fallback, all. */
  async cancel(job: string, send: () => Promise<unknown>): Promise<void> {
    const isParent = this.parent?.workflowId === job;
    const affected = this.workflows.filter(({ workflowId }) => isParent || workflowId === job);
    await cancelTogether(affected, send);
  }

  /** Collects what happened, and ends everything. */
  async close(ended: boolean): Promise<Observed> {
    const { workflowId, script } = this;
    const results = await readFile(join(this.folder, resultsKey(workflowId)), 'utf8').then(
      parseResults,
      () => [],
    );
    const jobs = await Promise.all(this.jobs.map((job) => job.close()));
    await rm(this.folder, { recursive: true, force: true, maxRetries: 5 });
    return { workflowId, script, jobs, parent: this.parent?.events ?? [], results, ended };
  }
}

/** The name of a service of a fallback, by its place. */
const serviceAt = (index: number) => `service-${index + 1}`;

const actionsOn = (job: string, actions: TimedAction[]) => actions.map((one) => ({ ...one, job }));

function specsOf(workflowId: string, script: Script): JobSpec[] {
  switch (script.kind) {
    case 'job':
      return [{ workflowId, script, seed: 1, start: script.start }];
    case 'batch':
      return script.items.map((item, index) => ({
        workflowId: itemName(workflowId, index + 1),
        script: item,
        seed: index + 1,
        start: 'request',
      }));
    case 'fallback':
      return script.services.map((one, index) => ({
        workflowId: childName(workflowId, serviceAt(index)),
        script: one,
        seed: 1,
        service: serviceAt(index),
        start: 'request',
      }));
  }
}
