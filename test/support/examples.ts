import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { transformFileSync } from '@swc/core';
import { createVideoClient } from '../../src/client/video-client';
import { createVideoService } from '../../src/service';
import type { VideoTestEnvironment } from '../../src/testing';
import { startEmulator } from '../../src/testing/emulator';
import { ChildProcesses, type RunningProcess, untilPrinted } from './child-processes';
import { quickWorkflows } from './world';

const EXAMPLES = join(__dirname, '../../examples');

/** Compiles the examples like `npm run examples`, but without checking types, which is slow: `npm run types` checks them. */
export function compileExamples(): void {
  const files = readdirSync(EXAMPLES, { recursive: true, encoding: 'utf8' });
  for (const file of files.filter((one) => one.endsWith('.ts'))) {
    const { code } = transformFileSync(join(EXAMPLES, file), {
      swcrc: false,
      module: { type: 'commonjs', ignoreDynamic: true },
      jsc: { target: 'es2023', parser: { syntax: 'typescript' } },
    });
    const out = join(EXAMPLES, 'dist', file).replace(/\.ts$/, '.js');
    mkdirSync(dirname(out), { recursive: true });
    writeFileSync(out, code);
  }
}

export class ExampleRuns {
  /** Their working directory, where they also store files. */
  readonly folder = mkdtempSync(join(tmpdir(), 'videogen-examples-'));
  private readonly processes = new ChildProcesses();

  /** An example as people run it: a separate process with only the given settings. */
  start(file: string, args: string[], env: Record<string, string> = {}): RunningProcess {
    return this.processes.start([join(EXAMPLES, 'dist', file), ...args], {
      cwd: this.folder,
      env: { VIDEOGEN_TEMPORAL_CLI: process.env.VIDEOGEN_TEMPORAL_CLI, ...env },
    });
  }

  async run(file: string, args: string[], env?: Record<string, string>) {
    const example = this.start(file, args, env);
    const code = await example.ended;
    return { code, out: example.out(), err: example.err() };
  }

  async remove(): Promise<void> {
    await this.processes.killAll();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

export type ExampleService = Awaited<ReturnType<typeof startExampleService>>;

/** The Express example in a separate process, and a worker in this one that runs its jobs. */
export async function startExampleService(env: VideoTestEnvironment, runs: ExampleRuns) {
  const emulator = await startEmulator({ jobTimeMs: 0, videoBytes: 64 * 1024 });
  const service = createVideoService({
    baseUrl: emulator.url,
    apiKey: () => emulator.apiKey,
    profile: { polling: { min: '1s', max: '1s' } },
  });
  const taskQueue = `test-${randomUUID()}`;
  const worker = await env.createWorker({ taskQueue, service, worker: quickWorkflows() });
  const working = worker.run();
  const example = runs.start('express-service/main.js', [], {
    PORT: '0',
    TEMPORAL_ADDRESS: env.temporal.address,
    VIDEOGEN_TASK_QUEUE: taskQueue,
  });
  const url = await untilPrinted(example, /http:\S+/);
  const get = (path: string, init?: RequestInit) => fetch(`${url}${path}`, init);

  return {
    emulator,
    videos: await createVideoClient({ client: env.temporal.client, taskQueue }),
    get,
    post: (path: string, body: unknown, key?: string) =>
      get(path, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...(key && { 'idempotency-key': key }) },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      }),
    /** All server-sent events of a video. */
    async events(id: string) {
      const answer = await get(`/videos/${id}/events`);
      const parts = (await answer.text()).matchAll(/^event: (.*)\ndata: (.*)$/gm);
      return [...parts].map(([, event = '', data = '']) => ({ event, data: JSON.parse(data) }));
    },
    async close(): Promise<void> {
      example.kill('SIGTERM');
      const code = await example.ended;
      worker.shutdown();
      await working;
      await service.close();
      await emulator.close();
      if (code !== 0) throw new Error(`the example ended with ${code}: ${example.err()}`);
    },
  };
}
