import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { name } from '../../package.json';
import { FAILURES } from '../../src/contract/failure-table';
import { type CliEnd, endOf, Home, until, untilCount, untilErr } from '../cli/cli-process';
import { ChildProcesses, type RunningProcess } from '../support/child-processes';
import { blocksOf, readSkill } from '../support/docs-page';
import { useTestServers } from '../support/temporal-servers';
import { INSTALL_TIMEOUT_MS } from './host';
import { run, tarball } from './run';

/** What SKILL.md says, as an agent does it: in an empty folder, with the packed package. The tests run in order and share the folder. */

// An installation, two Temporal servers, and a process for each command.
jest.setTimeout(INSTALL_TIMEOUT_MS);

const skill = readSkill();

/** The commands that no test has run yet. */
const left = blocksOf(skill, 'sh')
  .flatMap((block) => block.trimEnd().split('\n'))
  .map((line) => line.replace(/\s+#.*$/, ''));

/** The command that begins so, with values of this machine for its examples. */
function take(start: string, values: Record<string, string> = {}): string {
  const index = left.findIndex((command) => command.startsWith(start));
  const [command = ''] = index < 0 ? [] : left.splice(index, 1);
  expect(command).toContain(start);
  return Object.entries(values).reduce((text, [example, value]) => {
    expect(text).toContain(example);
    return text.replace(example, value);
  }, command);
}

const home = new Home();
const processes = new ChildProcesses();
beforeAll(async () => {
  await useTestServers();
  for (const program of blocksOf(skill, 'js')) {
    const [, file = ''] = /^\/\/ (\S+)\n/.exec(program) ?? [];
    writeFileSync(join(home.folder, file), program);
  }
});
afterAll(async () => {
  await processes.killAll();
  await home.remove();
});

/** Starts a command in a shell that has run these exports. */
function start(command: string, exports = ''): RunningProcess {
  const { VIDEOGEN_TEMPORAL_CLI, VIDEOGEN_TEST_SERVER } = process.env;
  const env = {
    VIDEOGEN_TEMPORAL_CLI,
    VIDEOGEN_TEST_SERVER,
    VIDEOGEN_DATA: home.data,
    // npx runs what is installed, or nothing.
    npm_config_offline: 'true',
    npm_config_update_notifier: 'false',
  };
  const script = `${exports}\nexec ${command}`;
  return processes.startProgram('sh', ['-c', script], { cwd: home.folder, env });
}

const inShell = (command: string, exports?: string): Promise<CliEnd> => endOf(start(command, exports));

/** Runs a command that has to succeed, and returns its standard output. */
async function outOf(command: string, exports?: string): Promise<string> {
  const { code, out, err } = await inShell(command, exports);
  if (code !== 0) throw new Error(`${command} ended with ${code}: ${out}${err}`);
  return out;
}

/** Runs a `list` until it has these jobs: Temporal shows a change a moment later. */
async function untilListed(command: string, names: string[]): Promise<void> {
  let listed: string[] = [];
  while (listed.join() !== names.join()) {
    const rows = (await outOf(command, exported())).split('\n').filter(Boolean);
    listed = rows.map((row): string => JSON.parse(row).workflowId).sort();
  }
}

let dev: RunningProcess;
/** The line that `dev` prints for programs. */
const exported = () => /^Your programs {2}(export .*)$/m.exec(dev.err())?.[1] ?? '';
/** The value of a variable in that line. */
const exportedValue = (variable: string) => new RegExp(`${variable}=(\\S+)`).exec(exported())?.[1] ?? '';
const lostTasks = () =>
  [...dev.err().matchAll(/no answer, created (task_\S+)/g)].map(([, task = '']) => task);

test('the package is installed, and the first video needs no key', async () => {
  const settings = { audit: 'false', fund: 'false', ignore_scripts: 'true', prefer_offline: 'true' };
  const env = Object.entries(settings).map(([key, value]) => [`npm_config_${key}`, value]);
  // With the npm cache of this machine.
  const install = take(`npm install ${name} `, { [name]: tarball() });
  await run('sh', ['-c', install], { cwd: home.folder, env: Object.fromEntries(env) });
  const { workflowId, taskId } = JSON.parse(await outOf(take('npx videogen generate')));
  expect(workflowId).toBe('first-fox');
  expect(home.paid()).toEqual([taskId]);
});

test('a lost submit is adopted, sent again or abandoned, and a retry does not guess', async () => {
  // Three submits are lost, one for each decision.
  dev = start(`${take('node_modules/.bin/videogen dev')} --fault submit:resetx3`);
  await untilErr(dev, 'Ctrl-C ends everything');
  const names = ['adopted', 'resubmitted', 'abandoned'];
  for (const [index, id] of names.entries()) {
    await outOf(`npx videogen generate "A red fox" --id ${id} --no-wait`);
    await untilCount('lost submits', index + 1, () => lostTasks().length, dev.err);
  }
  const held = take('npx videogen list --state needs-decision');
  await untilListed(held, [...names].sort());
  const paid = home.paid().length;

  const status = JSON.parse(await outOf(take('npx videogen status NAME', { NAME: 'adopted' }), exported()));
  const [taskId = ''] = lostTasks();
  const decisions = [
    take('npx videogen decide NAME --adopt TASK_ID', { NAME: 'adopted' }),
    take('npx videogen decide NAME --resubmit', { NAME: 'resubmitted' }),
    take('npx videogen decide NAME --abandon', { NAME: 'abandoned' }),
  ];
  expect(`npx ${status.commands[0]}`).toBe(decisions[0]);
  for (const decision of decisions) await outOf(decision.replace('TASK_ID', taskId), exported());
  const codes = names.map(async (id) => (await inShell(`npx videogen watch ${id}`)).code);
  expect(await Promise.all(codes)).toEqual([0, 0, FAILURES.SubmitUnconfirmed.exitCode]);
  expect(readdirSync(home.videos)).toEqual(expect.arrayContaining(['adopted.mp4', 'resubmitted.mp4']));
  expect(home.paid()).toHaveLength(paid + 1);

  await untilListed(take('npx videogen list --state failed'), ['abandoned']);
  expect(await outOf(take('npx videogen retry NAME', { NAME: 'abandoned' }), exported())).toBe('abandoned\n');
  await untilListed(held, ['abandoned']);
  expect(home.paid()).toHaveLength(paid + 1);
});

test('the worker and the client make a video, which is paid for once', async () => {
  const paid = home.paid().length;
  const worker = start(take('node worker.mjs'), exported());
  const command = take('node start.mjs');
  const first = await outOf(command, exported());
  expect(first).toMatch(/^file:\/\/\S+\/videos\/order-17[.]mp4 [0-9a-f]{64} \[\]\n$/);
  expect(await outOf(command, exported())).toBe(first);
  expect(home.paid()).toHaveLength(paid + 1);
  worker.kill('SIGTERM');
  expect(await endOf(worker)).toMatchObject({ code: 0 });
});

test('the test with a 429 passes', async () => {
  expect(await outOf(take('node --test fox.test.mjs'))).toMatch(/pass 1\n/);
});

test('with the settings of a service, doctor finds no problem and a worker starts', async () => {
  writeFileSync(join(home.folder, 'api-key'), exportedValue('VIDEO_API_KEY'));
  const settings = [
    take('export TEMPORAL_ADDRESS', {
      'temporal.example.com:7233': exportedValue('TEMPORAL_ADDRESS'),
      '/srv/videos': home.videos,
    }),
    take('export VIDEO_API_BASE_URL', {
      'https://api.example.com': exportedValue('VIDEO_API_BASE_URL'),
      '/run/secrets/video-api-key': join(home.folder, 'api-key'),
    }),
  ].join('\n');
  await outOf(take('npx videogen doctor'), settings);
  const worker = start(take('node_modules/.bin/videogen worker'), settings);
  await untilErr(worker, 'Working on task queue video-generation. Ctrl-C ends it.');
  worker.kill('SIGTERM');
  await worker.ended;
});

test('every command of SKILL.md was run, and dev ends with its server', async () => {
  expect(left).toEqual([]);
  dev.kill('SIGTERM');
  await dev.ended;
  expect(dev.err()).toContain('Jobs are saved and continue with the next start.');
  await until('the end of all processes', () => home.processes().length === 0);
});
