import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { historyToJSON } from '@temporalio/common/lib/proto-utils';
import { createVideoService } from '../../src/service';
import type { Emulator } from '../../src/testing';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import { noiseVideo } from '../../src/testing/video/make-video';
import { reply, replyJson, startRawServer } from '../service/raw-server';
import { historyOf } from '../support/history';
import { captureLogs, type LogLine } from '../support/logs';
import { filesIn, recordsIn } from '../support/stored-files';
import { inWorld, pause, type World } from '../support/world';

const apiKey = `sk-${randomUUID()}`;
const request = { prompt: 'A red fox' };

/** A part of the key, and other encodings of it. */
const SPELLINGS = [
  apiKey.slice(0, 20),
  Buffer.from(apiKey).toString('base64').replace(/=+$/, '').slice(0, -1),
  apiKey.replace('s', '\\u0073').replaceAll('-', '%2D'),
];

const quotesKey = `bad key: Bearer ${apiKey} ${SPELLINGS.join(' ')}`;

/** Jobs that take every path on which a key or a link could leak. */
const jobs: [string, (emulator: Emulator) => void][] = [
  [
    'succeeded after errors, with a service that repeats its link',
    (it) => {
      const message = `cannot open ${it.url}/files/x.mp4?signature=${it.linkSignature}`;
      const refused = { kind: 'refused', status: 403, message } as const;
      it.next('status', { kind: 'reset' }, { kind: 'server-error' }, { kind: 'bad-json' }, refused);
      it.next('download', { kind: 'cut', afterBytes: 10 }, { kind: 'web-page' }, refused);
    },
  ],
  [
    'unauthorized, with a service that repeats the key in several encodings',
    (it) => it.next('submit', { kind: 'refused', status: 401, message: quotesKey }),
  ],
  [
    'refused, with a service that repeats the key in several encodings',
    (it) => it.next('submit', { kind: 'refused', status: 400, message: quotesKey }),
  ],
  ['lost', (it) => it.next('submit', { kind: 'reset' })],
  ['failed', (it) => it.next('status', { kind: 'failed-task', code: 'x', message: quotesKey })],
];

let env: VideoTestEnvironment;
let logs: LogLine[];
beforeAll(async () => {
  logs = captureLogs();
  env = await createVideoTestEnvironment();
});
afterAll(() => env.teardown());

/** Texts by where they were found. */
type Traces = Record<string, string>;

/** Runs a job until it ends, and collects everything that is visible about it. */
async function collectTraces(
  traces: Traces,
  name: string,
  { videos, storageFolder }: Pick<World, 'videos' | 'storageFolder'>,
): Promise<void> {
  const job = await videos.start({ request });
  const outcome = await job.result().catch((error: unknown) => error);
  traces[`${name}: outcome`] = inspect(outcome, { depth: 20 });
  traces[`${name}: progress`] = JSON.stringify(await job.progress());
  const handle = env.temporal.client.workflow.getHandle(job.workflowId);
  traces[`${name}: details`] = JSON.stringify(await handle.query('__temporal_workflow_metadata'));
  traces[`${name}: memo`] = JSON.stringify((await handle.describe()).memo);
  const history = await historyOf(env.temporal.client, job.workflowId);
  traces[`${name}: history`] = decodePayloads(historyToJSON(history));
  const files = [...(await filesIn(storageFolder)), ...(await recordsIn(storageFolder))];
  for (const file of files) {
    traces[`${name}: file ${file}`] = (await readFile(join(storageFolder, file))).toString('latin1');
  }
}

/** Log lines arrive late, so it waits for those of the downloads. */
async function collectLogs(traces: Traces, downloads: number): Promise<void> {
  while (logs.filter(({ message }) => message === 'stored').length < downloads) await pause();
  traces.logs = inspect(logs, { depth: 20, maxArrayLength: null, maxStringLength: null });
}

function expectNone(secrets: readonly string[], traces: Traces): void {
  for (const secret of secrets) {
    expect(Object.keys(traces).filter((where) => traces[where]?.includes(secret))).toEqual([]);
  }
}

test('neither the API key nor a link is in any history, log, error, answer or file', async () => {
  const traces: Traces = {};
  const secrets = [apiKey, ...SPELLINGS];
  for (const [name, prepare] of jobs) {
    await inWorld(env, { apiKey, jobTimeMs: 0 }, async (world) => {
      const { emulator } = world;
      secrets.push(emulator.linkSignature);
      prepare(emulator);
      await collectTraces(traces, name, world);
      expect(emulator.scriptIsSpent()).toBe(true);
    });
  }
  await collectLogs(traces, 1);

  expect(Object.keys(traces).length).toBeGreaterThan(3 * jobs.length);
  expect(traces[`${jobs[0]?.[0]}: history`]).toContain('A red fox');
  expect(traces.logs).toContain('submitted');
  expectNone(secrets, traces);
}, 120_000);

test('neither a secret header of a profile nor a key in an ambiguous answer is there either', async () => {
  const secretHeader = `workspace-${randomUUID()}`;
  const secrets = [apiKey, secretHeader];
  const video = await noiseVideo(request, 64 * 1024);
  const server = await startRawServer((asked) => {
    if (asked.line.includes('/v.mp4')) return reply(asked, { body: video });
    // A second id, and an error beside a success, each with the secrets of the request.
    const task = { task_id: 'task-1', taskId: `of-${secretHeader}-${apiKey}` };
    if (asked.line.startsWith('POST')) return replyJson(asked, task);
    const error = { code: secretHeader, message: `${asked.headers['x-workspace']} and ${apiKey}` };
    replyJson(asked, { ...task, status: 'succeeded', video_url: '/v.mp4', error });
  });
  const profile = { headers: { 'x-workspace': secretHeader } };
  const service = createVideoService({ baseUrl: server.url, apiKey: () => apiKey, profile });
  const traces: Traces = {};
  logs.length = 0;
  await inWorld(env, { wrapService: () => service }, (world) => collectTraces(traces, 'ambiguous', world));
  await collectLogs(traces, 1);
  await service.close();
  await server.close();

  expect(server.requests.map(({ headers }) => headers['x-workspace'])).toContain(secretHeader);
  expect(traces['ambiguous: outcome']).toContain('task-1');
  expect(logs.filter(({ message }) => message === 'the answer is ambiguous').length).toBeGreaterThan(1);
  expectNone(secrets, traces);
});

/** Payloads in a history are base64. Appends them decoded, so that a secret in one is found. */
function decodePayloads(json: string): string {
  const decoded = [...json.matchAll(/"data":\s*"([^"]+)"/g)].map(([, data]) =>
    Buffer.from(data ?? '', 'base64').toString(),
  );
  return json + decoded.join('\n');
}
