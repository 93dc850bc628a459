import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { historyToJSON } from '@temporalio/common/lib/proto-utils';
import type { JobInput } from '../../src/contract';
import { type Emulator, noiseVideo } from '../../src/emulator';
import { createVideoService } from '../../src/service';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import { reply, replyJson, startRawServer } from '../service/raw-server';
import { historyOf } from '../support/history';
import { captureLogs, type LogLine } from '../support/logs';
import { filesIn, recordsIn } from '../support/stored-files';
import { inWorld, pause, type World } from '../support/world';

const apiKey = `sk-${randomUUID()}`;
const request = { prompt: 'A red fox' };

/** A part of the key, and other ways to write it. */
const SPELLINGS = [
  apiKey.slice(0, 20),
  Buffer.from(apiKey).toString('base64').replace(/=+$/, '').slice(0, -1),
  apiKey.replace('s', '\\u0073').replaceAll('-', '%2D'),
];

/** Jobs that go every way on which a key or a link could slip out. */
const jobs: [string, JobInput, (emulator: Emulator) => void][] = [
  ['well', { request }, () => {}],
  [
    'refused by the service',
    { request },
    (it) => it.next('submit', { kind: 'refused', status: 401, message: 'bad key' }),
  ],
  [
    'with a service that repeats the key',
    { request },
    (it) => it.next('submit', { kind: 'refused', status: 400, message: `bad header: Bearer ${apiKey}` }),
  ],
  [
    'with a service that repeats a part of the key, or all of it in another spelling',
    { request },
    (it) => it.next('submit', { kind: 'refused', status: 400, message: `bad key: ${SPELLINGS.join(' ')}` }),
  ],
  [
    'with problem while looking',
    { request },
    (it) => it.next('status', { kind: 'reset' }, { kind: 'server-error' }, { kind: 'bad-json' }),
  ],
  [
    'with problem while downloading',
    { request },
    (it) =>
      it.next(
        'download',
        { kind: 'cut', afterBytes: 10 },
        { kind: 'web-page' },
        { kind: 'refused', status: 403, message: 'x' },
      ),
  ],
  [
    'with a service that repeats its link',
    { request },
    (it) => {
      const message = `cannot open ${it.url}/files/x.mp4?signature=${it.linkSignature}`;
      it.next('status', { kind: 'refused', status: 403, message });
      it.next('download', { kind: 'refused', status: 403, message });
    },
  ],
  ['lost', { request }, (it) => it.next('submit', { kind: 'reset' })],
  ['failed', { request }, (it) => it.next('status', { kind: 'failed-task', code: 'x', message: 'y' })],
];

let env: VideoTestEnvironment;
let logs: LogLine[];
beforeAll(async () => {
  logs = captureLogs();
  env = await createVideoTestEnvironment();
});
afterAll(() => env.teardown());

type Seen = Record<string, string>;

/** Runs a job to whatever end, and notes everything that tells of it, by where it stands. */
async function noteAll(
  seen: Seen,
  name: string,
  { videos, storageFolder }: Pick<World, 'videos' | 'storageFolder'>,
  input: JobInput,
): Promise<void> {
  const job = await videos.start(input);
  const outcome = await job.result().catch((error: unknown) => error);
  seen[`${name}: outcome`] = inspect(outcome, { depth: 20 });
  seen[`${name}: progress`] = JSON.stringify(await job.progress());
  const handle = env.temporal.client.workflow.getHandle(job.workflowId);
  seen[`${name}: details`] = JSON.stringify(await handle.query('__temporal_workflow_metadata'));
  seen[`${name}: memo`] = JSON.stringify((await handle.describe()).memo);
  const history = await historyOf(env.temporal.client, job.workflowId);
  seen[`${name}: history`] = decodePayloads(historyToJSON(history));
  const files = [...(await filesIn(storageFolder)), ...(await recordsIn(storageFolder))];
  for (const file of files) {
    seen[`${name}: file ${file}`] = (await readFile(join(storageFolder, file))).toString('latin1');
  }
}

/** Log lines arrive a little later than what they tell of. */
async function noteLogs(seen: Seen, downloads: number): Promise<void> {
  while (logs.filter(({ message }) => message === 'downloaded').length < downloads) await pause();
  seen.logs = inspect(logs, { depth: 20, maxArrayLength: null, maxStringLength: null });
}

function expectNone(secrets: readonly string[], seen: Seen): void {
  for (const secret of secrets) {
    expect(Object.keys(seen).filter((where) => seen[where]?.includes(secret))).toEqual([]);
  }
}

test('neither the API key nor a link is in any history, log, error, answer or file', async () => {
  const seen: Seen = {};
  const secrets = [apiKey, ...SPELLINGS];
  for (const [name, input, prepare] of jobs) {
    await inWorld(env, { apiKey, jobTimeMs: 1_000 }, async (world) => {
      const { emulator } = world;
      secrets.push(emulator.linkSignature);
      prepare(emulator);
      await noteAll(seen, name, world, input);
      expect(emulator.scriptIsSpent()).toBe(true);
    });
  }
  await noteLogs(seen, 3);

  expect(Object.keys(seen).length).toBeGreaterThan(3 * jobs.length);
  expect(seen['well: history']).toContain('A red fox');
  expect(seen.logs).toContain('submitted');
  expectNone(secrets, seen);
}, 120_000);

test('nor are a secret header of a profile and a key in an ambiguous answer', async () => {
  const secretHeader = `workspace-${randomUUID()}`;
  const secrets = [apiKey, secretHeader];
  const video = await noiseVideo(request, 64 * 1024);
  const server = await startRawServer((asked) => {
    if (asked.line.includes('/v.mp4')) return reply(asked, { body: video });
    // A second id, and an error beside a success, each with what was sent along.
    const task = { task_id: 'task-1', taskId: `of-${secretHeader}-${apiKey}` };
    if (asked.line.startsWith('POST')) return replyJson(asked, task);
    const error = { code: secretHeader, message: `${asked.headers['x-workspace']} and ${apiKey}` };
    replyJson(asked, { ...task, status: 'succeeded', video_url: '/v.mp4', error });
  });
  const profile = { headers: { 'x-workspace': secretHeader } };
  const service = createVideoService({ baseUrl: server.url, apiKey: () => apiKey, profile });
  const seen: Seen = {};
  logs.length = 0;
  await inWorld(env, { wrapService: () => service }, (world) =>
    noteAll(seen, 'doubtful', world, { request }),
  );
  await noteLogs(seen, 1);
  await service.close();
  await server.close();

  expect(server.requests.map(({ headers }) => headers['x-workspace'])).toContain(secretHeader);
  expect(seen['doubtful: outcome']).toContain('task-1');
  expect(logs.filter(({ message }) => message === 'the answer is ambiguous').length).toBeGreaterThan(1);
  expectNone(secrets, seen);
});

/** Payloads stand in a history as base64: opened beside it, so that a secret in one is found. */
function decodePayloads(json: string): string {
  const opened = [...json.matchAll(/"data":\s*"([^"]+)"/g)].map(([, data]) =>
    Buffer.from(data ?? '', 'base64').toString(),
  );
  return json + opened.join('\n');
}
