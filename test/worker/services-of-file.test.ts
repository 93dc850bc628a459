import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { activityWorkers } from '../../src/worker/activity-workers';
import { prepareWork } from '../../src/worker/video-work';

let folder: string;
let server: Server;
const seen: (string | undefined)[] = [];
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'videogen-services-of-file-'));
  server = createServer((request, response) => {
    seen.push(request.headers.authorization);
    response.writeHead(404, { 'content-type': 'application/json' }).end('{"error":"no task"}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  writeFileSync(join(folder, 'one.key'), 'sk-one');
  writeFileSync(
    join(folder, 'services.json'),
    JSON.stringify({
      services: {
        one: { baseUrl, key: { file: 'one.key' }, submitsPerSecond: 2, onLostSubmit: 'fail' },
        two: { baseUrl, key: { env: 'TWO_KEY' } },
      },
      default: 'two',
    }),
  );
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
  rmSync(folder, { recursive: true });
});
beforeEach(() => void seen.splice(0));

const env = () => ({
  VIDEOGEN_SERVICES_FILE: join(folder, 'services.json'),
  VIDEOGEN_STORAGE: join(folder, 'videos'),
  TWO_KEY: 'sk-two',
});

test('each service is called with its own key, and a rotated file counts at the next call', async () => {
  const { directory, close } = prepareWork({ env: env() });
  const poll = async (name: string) => {
    const found = directory.find(name);
    if ('problem' in found) throw new Error(found.problem);
    await found.service.status('task_1').catch(() => undefined);
  };
  await poll('two');
  await poll('one');
  writeFileSync(join(folder, 'one.key'), 'sk-rotated');
  await poll('one');
  await close();
  writeFileSync(join(folder, 'one.key'), 'sk-one');
  expect(seen).toEqual(['Bearer sk-two', 'Bearer sk-one', 'Bearer sk-rotated']);
});

const queues = {
  taskQueue: 'films',
  submitQueue: 'films-submit',
  downloadQueue: 'films',
  submitsPerSecond: 9,
};

test('each service has its own queue of submits, with its own pace, and jobs that name none have another', async () => {
  const work = prepareWork({ env: env() });
  const paces = activityWorkers(work, queues).map((options) => [
    options.taskQueue,
    options.maxTaskQueueActivitiesPerSecond,
  ]);
  expect(paces).toEqual([
    ['films-submit', 9],
    ['films-submit-one', 2],
    ['films-submit-two', 9],
  ]);
  expect(work.directory.all().map(({ name }) => name)).toEqual(['one', 'two']);
  await work.close();
});

test('a base URL beside the file keeps its tasks, and the default of the file takes new jobs', async () => {
  const both = { ...env(), VIDEO_API_BASE_URL: 'http://127.0.0.1:1', VIDEO_API_KEY: 'sk-unnamed' };
  const work = prepareWork({ env: both });
  expect(work.directory.find()).not.toHaveProperty('name');
  expect(work.directory.find(work.directory.defaultService)).toMatchObject({ name: 'two' });
  await work.close();
});

test('a key that cannot be read and a default that is not there stop a worker before it starts', () => {
  expect(() => prepareWork({ env: { ...env(), TWO_KEY: '' } })).toThrow('names TWO_KEY, which is not set');
  expect(() => prepareWork({ env: env(), services: {}, defaultService: 'one' })).toThrow(
    'The option services has a mistake: the default one is not among them.',
  );
});
