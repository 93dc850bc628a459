import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { argumentsOf, COMMANDS } from './commands';
import { countTasks, Jobs } from './jobs';
import { writeReport } from './page';
import {
  containerOf,
  crash,
  docker,
  dockerLine,
  evaluate,
  eventually,
  inspect,
  runningServices,
  untilWell,
} from './stack';
import { makeStandIns } from './stand-ins/make-stand-ins';

/** Long enough to kill a container while the service still works on the task. */
const TASK_TIME = '15s';
/** Longer than the worker's grace for everything but submits. */
const LATE_ANSWER_MS = 25_000;

const seconds = (value: number) => `${value.toFixed(value < 10 ? 1 : 0)} s`;
const secondsSince = (startedAt: number) => seconds((performance.now() - startedAt) / 1_000);

/** What happened, line by line: printed at once, and written to the page with `--page`. */
class Transcript {
  readonly lines: string[] = [];

  say(line: string): void {
    this.lines.push(line);
    process.stdout.write(`${line}\n`);
  }

  /** Runs one of the page's commands. */
  async run(command: string, env: NodeJS.ProcessEnv = {}) {
    this.say(`$ ${command}`);
    return await docker(argumentsOf(command), { EMULATOR_JOB_TIME: TASK_TIME, ...env });
  }
}

/** Where `docker compose` reads its settings. */
const SETTINGS = join(__dirname, '../../.env');

/** Without settings nothing is started, and Compose says what to do. */
async function makeSettings(transcript: Transcript): Promise<void> {
  const [file, example] = argumentsOf(COMMANDS.settings).reverse();
  if (existsSync(SETTINGS)) throw new Error(`There is a ${file} already, which would be lost: move it away.`);
  const refused = await docker(argumentsOf(COMMANDS.up)).then(String, String);
  if (!refused.includes(COMMANDS.settings)) throw new Error(`Compose does not say what to do: ${refused}`);
  transcript.say(
    `Without ${file} nothing starts: Compose says to name a video service, or to copy ${example}.`,
  );
  transcript.say(`$ ${COMMANDS.settings}`);
  copyFileSync(join(__dirname, '../..', example ?? ''), SETTINGS);
}

async function start(transcript: Transcript): Promise<Jobs> {
  const { seconds: took } = await transcript.run(COMMANDS.up);
  const startedAt = performance.now();
  for (const service of await runningServices()) await untilWell(service);
  const services = (await runningServices()).join(', ');
  transcript.say(
    `Built and started in ${seconds(took)}, all well ${secondsSince(startedAt)} later: ${services}.`,
  );
  const key = (await docker(argumentsOf(COMMANDS.key))).stdout.match(/vgk_\S+/)?.[0];
  if (key === undefined) throw new Error(`${COMMANDS.key} shows no key.`);
  const another = (await docker(argumentsOf(COMMANDS.anotherKey))).stdout;
  if (!/vgk_\S+/.test(another)) throw new Error(`${COMMANDS.anotherKey} makes no key.`);
  const address = await dockerLine('compose', 'port', 'gateway', '8787');
  return new Jobs(`http://${address}`, key);
}

/** Where nobody listens. Without root certificates the core does not get as far as that. */
const CONNECT_BY_TLS = `require('@temporalio/worker').NativeConnection.connect({ address: '127.0.0.1:1', tls: true }).catch((error) => console.log(String(error)))`;

async function describeWorker(transcript: Transcript): Promise<void> {
  const tried = await evaluate(
    'worker',
    `try { fs.writeFileSync('/app/x', ''); console.log('can be written') } catch (error) { console.log(error.code) }`,
  );
  const asUser = await evaluate('worker', 'console.log(process.getuid())');
  if (tried !== 'EROFS' || asUser !== '1000') {
    throw new Error(`The worker runs as user ${asUser}, and its root file system ${tried}.`);
  }
  const refused = await evaluate('worker', CONNECT_BY_TLS);
  if (!refused.includes('ConnectionRefused')) throw new Error(`The worker cannot use TLS: ${refused}`);
  transcript.say(
    `The worker runs as user ${asUser}, a write to its root fails with ${tried}, and its core finds root certificates.`,
  );
}

async function firstVideo(transcript: Transcript): Promise<void> {
  const { stdout } = await transcript.run(COMMANDS.generate);
  transcript.say(stdout.trim());
  const folder = mkdtempSync(join(tmpdir(), 'videogen-compose-'));
  await docker(argumentsOf(COMMANDS.copy).with(-1, folder));
  rmSync(folder, { recursive: true, force: true });
}

async function expectPaidOnce(prompt: string): Promise<void> {
  const count = await countTasks(prompt);
  if (count !== 1) throw new Error(`The service has ${count} tasks for "${prompt}".`);
}

/** A job that is submitted when something happens, and is to end well and paid for once. Resolves with how long it took. */
async function outlive(jobs: Jobs, prompt: string, happens: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  const id = await jobs.start(prompt);
  await jobs.untilSubmitted(id);
  await happens();
  await jobs.untilStored(id);
  await expectPaidOnce(prompt);
  return (performance.now() - startedAt) / 1_000;
}

/** One job for each container: the container is killed while the service works on the task. */
async function killEach(transcript: Transcript, jobs: Jobs): Promise<void> {
  const services = await runningServices();
  const back: number[] = [];
  const ended: number[] = [];
  for (const service of services)
    ended.push(
      await outlive(jobs, `A fox that outlives ${service}`, async () => back.push(await crash(service))),
    );
  transcript.say(
    `kill -9 of ${services.join(', ')}, one after the other: healthy again within ${seconds(Math.max(...back))}; ` +
      `each job ended well within ${seconds(Math.max(...ended))}, 1 task paid.`,
  );
}

/** Everything is killed at once, and nothing restarts by itself. */
async function killAll(transcript: Transcript, jobs: Jobs): Promise<void> {
  await outlive(jobs, 'A fox that outlives them all', async () => {
    transcript.say('$ docker compose kill');
    await docker(['compose', 'kill']);
    await transcript.run(COMMANDS.up);
  });
  transcript.say('kill -9 of all of them, and a start: the job ended well, 1 task paid.');
}

/** The service answers a submit only after the worker was told to end. */
async function drain(transcript: Transcript, jobs: Jobs): Promise<void> {
  const prompt = 'A fox whose worker is told to end';
  await eventually('no connection is left of the job before', async () =>
    (await evaluate('worker', countCallsToEmulator)) === '0' ? true : undefined,
  );
  await docker(['compose', 'pause', 'emulator']);
  const id = await jobs.start(prompt);
  await eventually('the worker has sent its submit', async () =>
    (await evaluate('worker', countCallsToEmulator)) === '0' ? undefined : true,
  );
  transcript.say('$ docker compose stop worker');
  const container = await containerOf('worker');
  const startedAt = performance.now();
  const stopping = docker(['compose', 'stop', 'worker']);
  await sleep(LATE_ANSWER_MS);
  await docker(['compose', 'unpause', 'emulator']);
  await stopping;
  const tookMs = performance.now() - startedAt;
  const took = seconds(tookMs / 1_000);
  const { ExitCode: code } = (await inspect(container)).State;
  if (code !== 0 || tookMs < LATE_ANSWER_MS)
    throw new Error(`The worker ended after ${took}, with code ${code}.`);
  await docker(['compose', 'start', 'worker']);
  await jobs.untilStored(id);
  await expectPaidOnce(prompt);
  transcript.say(
    `SIGTERM to a worker whose submit is answered only ${LATE_ANSWER_MS / 1_000} s later: it ended by itself after ${took}, ` +
      'with code 0. The next worker ended the job well, 1 task paid.',
  );
}

/** Connections to port 8080 (1F90), as Linux lists them. */
const countCallsToEmulator = `console.log(fs.readFileSync('/proc/net/tcp', 'utf8').match(/:1F90 01 /g)?.length ?? 0)`;

/** New containers on the old volumes, with a job under way. */
async function replaceAll(transcript: Transcript, jobs: Jobs): Promise<void> {
  let took = 0;
  await outlive(jobs, 'A fox that moves to new containers', async () => {
    took = (await transcript.run(COMMANDS.down)).seconds;
    await transcript.run(COMMANDS.up);
  });
  const listed = await jobs.countListed();
  if (listed !== jobs.prompts.length) {
    throw new Error(`The gateway lists ${listed} videos, and ${jobs.prompts.length} were made.`);
  }
  transcript.say(
    `All containers removed, which took ${seconds(took)}, and made anew on the same volumes: the job ended well, ` +
      `1 task paid, and the database has all ${listed} jobs of the gateway.`,
  );
}

/** `npm run compose:try [-- --stand-ins] [--page]`. */
export async function main(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: { 'stand-ins': { type: 'boolean' }, page: { type: 'boolean' } },
  });
  const versions = {
    Docker: await dockerLine('version', '--format', '{{.Server.Version}}'),
    Compose: await dockerLine('compose', 'version', '--short'),
  };
  const standIns = values['stand-ins'] ? await makeStandIns() : [];
  const transcript = new Transcript();
  const startedAt = performance.now();
  await makeSettings(transcript);
  try {
    const jobs = await start(transcript);
    await describeWorker(transcript);
    await firstVideo(transcript);
    await killEach(transcript, jobs);
    await killAll(transcript, jobs);
    await drain(transcript, jobs);
    await replaceAll(transcript, jobs);
  } catch (error) {
    const { stdout } = await docker(['compose', 'logs', '--tail', '40', '--no-color']);
    process.stderr.write(`${stdout}\n`);
    throw error;
  } finally {
    await docker(['compose', 'down', '--volumes', '--timeout', '5']);
    rmSync(SETTINGS);
  }
  const ranOn = new Date().toISOString().slice(0, 10);
  const minutes = Math.round((performance.now() - startedAt) / 60_000);
  const report = { ranOn, minutes, versions, standIns, lines: transcript.lines };
  if (values.page) writeReport(report);
}
