import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { historyFromJSON } from '@temporalio/common/lib/proto-utils';
import { Worker } from '@temporalio/worker';
import { bundleFiles } from '../../src/worker/own-workflows';
import { captureLogs } from '../support/logs';
import { bundlePath } from '../support/world';

const folder = join(__dirname, '../histories');
const names = readdirSync(folder);

beforeAll(() => {
  captureLogs();
});

const read = (name: string): unknown => JSON.parse(readFileSync(join(folder, name), 'utf8'));

const replay = (name: string, history: unknown, codePath = bundlePath()) =>
  Worker.runReplayHistory({ workflowBundle: { codePath } }, historyFromJSON(history), name);

test.each(names)('today’s workflow replays the recorded job %s', async (name) => {
  await replay(name.replace('.json', ''), read(name));
});

test.each(names)('the bundle in the package replays the recorded job %s', async (name) => {
  const { code } = bundleFiles(join(__dirname, '../../dist/workflows'));
  await replay(name.replace('.json', ''), read(name), code);
});

test('a history of another workflow does not replay', async () => {
  const foreign = JSON.stringify(read('well.json')).replace('"name":"pollVideo"', '"name":"peekVideo"');
  await expect(replay('well', JSON.parse(foreign))).rejects.toThrow(/[Nn]ondeterminism/);
});
