import { spawn } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { Connection } from '@temporalio/client';
import { acceptsConnections, freePort, LOOPBACK } from '../../src/temporal-server/loopback-port';
import { untilPortOpen } from '../../src/temporal-server/until-ready';
import { endOf, Home, until, untilErr } from '../cli/cli-process';

// Several processes in sequence, each of which starts a server.
jest.setTimeout(120_000);

let home: Home;
beforeEach(() => {
  home = new Home();
});
afterEach(() => home.remove());

const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8);

test('a server ends with the process that started it, even if that is killed during the start', async () => {
  const dev = home.start(['dev']);
  const log = join(home.data, 'temporal.log');
  await until(
    'a server',
    () => existsSync(log) && readFileSync(log, 'utf8').includes('Temporal Server:'),
    dev.err,
  );
  dev.kill('SIGKILL');
  await dev.ended;
  expect(home.note()).toBeUndefined();
  await until('its end', () => home.processes().length === 0);
});

test('the next start ends an orphaned server, makes the data private and retains jobs for 90 days', async () => {
  // What a start leaves that is killed early: a server, its database and nothing else.
  mkdirSync(home.data, { mode: 0o755 });
  chmodSync(home.data, 0o755);
  writeFileSync(join(home.data, 'temporal.log'), '', { mode: 0o644 });
  const port = await freePort();
  spawn(
    process.env.VIDEOGEN_TEMPORAL_CLI ?? '',
    ['server', 'start-dev', '--headless', '--ip', LOOPBACK, '--port', `${port}`].concat(
      ...['--db-filename', join(home.data, 'temporal.db')],
    ),
    { stdio: 'ignore' },
  );
  await untilPortOpen(port, AbortSignal.timeout(60_000));

  const dev = home.start(['dev']);
  await untilErr(dev, 'Ctrl-C ends everything');
  expect(await acceptsConnections(port)).toBe(false);

  expect(modeOf(home.data)).toBe('700');
  const files = readdirSync(home.data, { withFileTypes: true }).filter((entry) => entry.isFile());
  const modes = files.map(({ name }) => [name, modeOf(join(home.data, name))]);
  expect(modes.map(([name]) => name)).toEqual(
    expect.arrayContaining(['temporal.db', 'temporal.log', 'stack.json']),
  );
  expect(modes.filter(([, mode]) => mode !== '600')).toEqual([]);

  const connection = await Connection.connect({ address: home.note()?.address });
  const { config } = await connection.workflowService.describeNamespace({ namespace: 'default' });
  await connection.close();
  expect(Number(config?.workflowExecutionRetentionTtl?.seconds)).toBe(90 * 24 * 3_600);

  dev.kill('SIGINT');
  expect(await endOf(dev)).toMatchObject({ code: 0 });
  expect(home.processes()).toEqual([]);
});
