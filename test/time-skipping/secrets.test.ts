import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { historyToJSON } from '@temporalio/common/lib/proto-utils';
import type { JobInput } from '../../src/contract';
import type { Emulator } from '../../src/emulator';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import { historyOf } from '../support/history';
import { captureLogs, type LogLine } from '../support/logs';
import { filesIn, recordsIn } from '../support/stored-files';
import { inWorld, pause } from '../support/world';

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

test('neither the API key nor a link is in any history, log, error, answer or file', async () => {
  const seen: Record<string, string> = {};
  const secrets = [apiKey, ...SPELLINGS];
  for (const [name, input, prepare] of jobs) {
    await inWorld(env, { apiKey, jobTimeMs: 1_000 }, async ({ emulator, videos, storageFolder }) => {
      secrets.push(emulator.linkSignature);
      prepare(emulator);
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
      expect(emulator.scriptIsSpent()).toBe(true);
    });
  }
  while (logs.filter(({ message }) => message === 'downloaded').length < 3) await pause();
  seen.logs = inspect(logs, { depth: 20, maxArrayLength: null, maxStringLength: null });

  expect(Object.keys(seen).length).toBeGreaterThan(3 * jobs.length);
  expect(seen['well: history']).toContain('A red fox');
  expect(seen.logs).toContain('submitted');
  for (const secret of secrets) {
    expect(Object.keys(seen).filter((where) => seen[where]?.includes(secret))).toEqual([]);
  }
}, 120_000);

/** Payloads stand in a history as base64: opened beside it, so that a secret in one is found. */
function decodePayloads(json: string): string {
  const opened = [...json.matchAll(/"data":\s*"([^"]+)"/g)].map(([, data]) =>
    Buffer.from(data ?? '', 'base64').toString(),
  );
  return json + opened.join('\n');
}
