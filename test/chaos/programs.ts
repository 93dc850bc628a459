import { randomBytes } from 'node:crypto';
import { appendFileSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Client, Connection, Client as TemporalClient } from '@temporalio/client';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';
import { encryptedDataConverter } from '../../src/client/connect';
import { createVideoClient, type VideoClient } from '../../src/client/video-client';
import { makeKey } from '../../src/gateway/gateway-keys';
import { freePort } from '../../src/temporal-server/loopback-port';
import { seededRandom } from '../../src/testing/seeded-random';
import { type ReceivedWebhook, SERVICES, type ServiceName } from './ledger';
import { Line } from './line';
import { type Launch, Part } from './part';
import { gatewayName, lineNames, numbersTo, type Plan, workerName } from './plan';
import type { ServiceSettings } from './service-process';

const TASK_QUEUE = 'chaos';
const CALLER = 'chaos';
const API_KEY = 'the-key-of-the-services';
const ROOT = join(__dirname, '../..');
const MAIN = join(ROOT, 'dist/src/cli/main.js');
const JOB_TIME_MS = 1_000;
/** A download has several pieces. */
const VIDEO_BYTES = 200_000;
const REFUSED_WEBHOOKS_SHARE = 0.1;

export interface ProgramsOptions {
  plan: Plan;
  folder: string;
  temporalCli: string;
  /** A Temporal server on PostgreSQL, instead of the dev server. */
  cluster?: { address: string; database: Part };
  /** The protection that is switched off. */
  broken?: string;
}

/** All programs of a run, and the lines between them. */
export class Programs {
  readonly parts = new Map<string, Part>();
  readonly lines = new Map<string, Line>();
  readonly webhooks: ReceivedWebhook[] = [];
  readonly folder: string;
  readonly plan: Plan;
  readonly storage: string;
  readonly bundle: string;
  readonly keys = ['first', 'second'].map((id) => ({ id, key: randomBytes(32) }));
  readonly gatewayKey: string;
  /** All processes of the run have this in their environment. */
  readonly mark = `chaos-${randomBytes(8).toString('hex')}`;
  private readonly ports = new Map<string, number>();
  private readonly receiver = createServer();
  private serviceStarts = 0;
  private rotations = 0;
  private rotation = Promise.resolve();
  private connection: Connection | undefined;
  private opened: { client: Client; videos: VideoClient } | undefined;

  private constructor(private readonly options: ProgramsOptions) {
    this.folder = options.folder;
    this.plan = options.plan;
    this.storage = join(options.folder, 'videos');
    this.bundle = join(options.folder, 'workflows.js');
    const { key, line } = makeKey(CALLER);
    this.gatewayKey = key;
    mkdirSync(this.storage, { recursive: true });
    this.write('gateway-keys', line);
    this.write('service-key', API_KEY);
    this.write('webhook-secret', `whsec_${randomBytes(32).toString('base64')}`);
    this.writeRing(0);
  }

  static async start(options: ProgramsOptions): Promise<Programs> {
    const programs = new Programs(options);
    try {
      await programs.open();
      return programs;
    } catch (error) {
      await programs.stop();
      throw error;
    }
  }

  /** The address of the server itself, for the judge. */
  get temporalAddress(): string {
    return this.options.cluster?.address ?? `127.0.0.1:${this.port('temporal')}`;
  }

  get client(): Client {
    return this.callers().client;
  }

  get videos(): VideoClient {
    return this.callers().videos;
  }

  part(name: string): Part {
    return found(this.parts, name);
  }

  line(name: string): Line {
    return found(this.lines, name);
  }

  /** The address of a gateway for its callers. */
  gatewayUrl(number: number): string {
    return `http://${this.line(`callers:${gatewayName(number)}`).address}`;
  }

  troubleFile(worker: number): string {
    return join(this.folder, `trouble-${worker}.json`);
  }

  /** The steps of docs/deployment.md: every process can read with the new key before one writes with it. */
  rotateKey(): Promise<void> {
    this.rotation = this.rotation.then(async () => {
      this.writeRing(++this.rotations);
      await this.openClient();
      const { workers, gateways } = this.options.plan;
      for (const number of numbersTo(workers)) await this.part(workerName(number)).kill(0);
      for (const number of numbersTo(gateways)) await this.part(gatewayName(number)).kill(0);
    });
    return this.rotation;
  }

  /** The worker whose POST is the next that says this; undefined if none comes. */
  nextPost(says: string, withinMs: number): Promise<number | undefined> {
    return new Promise((resolve) => {
      const stop: (() => void)[] = [];
      const end = (worker?: number) => {
        clearTimeout(late);
        for (const one of stop) one();
        resolve(worker);
      };
      const late = setTimeout(end, withinMs);
      for (const worker of numbersTo(this.plan.workers))
        for (const service of SERVICES)
          stop.push(
            this.line(`${workerName(worker)}:${service}`).onPost((text) => {
              if (text.includes(says)) end(worker);
            }),
          );
    });
  }

  /** Freezes a worker at its next POST. False if it made none. */
  async freezeAtPost(worker: number, ms: number): Promise<boolean> {
    const file = this.troubleFile(worker);
    const mark = `${file}.frozen`;
    rmSync(mark, { force: true });
    writeFileSync(file, JSON.stringify({ freezeAtPost: `${Date.now()}` }));
    for (let left = 200; left > 0 && !existsSync(mark); left--) await sleep(100);
    rmSync(file, { force: true });
    const isFrozen = existsSync(mark);
    await this.part(workerName(worker)).freeze(isFrozen ? ms : 0);
    return isFrozen;
  }

  /** A frozen or killed service has nothing to say about its tasks. */
  async serviceAnswers(withinMs: number): Promise<boolean> {
    const asked = SERVICES.map((name) =>
      fetch(`http://127.0.0.1:${this.port(name)}/v1/videos/none`, { signal: AbortSignal.timeout(withinMs) }),
    );
    return Promise.all(asked).then(
      () => true,
      () => false,
    );
  }

  /** Has the services write down what each video must be. */
  async writeVideos(): Promise<void> {
    const { process: service } = this.part('service');
    await new Promise<void>((resolve) => {
      service?.once('message', () => resolve());
      service?.send('write videos');
    });
  }

  async stop(): Promise<void> {
    await this.connection?.close().catch(() => undefined);
    const last = ['service', 'temporal'];
    const names = [...this.parts.keys()].filter((name) => !last.includes(name));
    await Promise.all(names.map((name) => this.part(name).stop('SIGKILL')));
    for (const name of last) await this.parts.get(name)?.stop('SIGKILL');
    await Promise.all([...this.lines.values()].map((line) => line.close()));
    this.receiver.closeAllConnections();
    await new Promise((resolve) => this.receiver.close(resolve));
  }

  private callers() {
    if (this.opened === undefined) throw new Error('the callers have no connection yet');
    return this.opened;
  }

  private port(name: string): number {
    return found(this.ports, name);
  }

  private write(name: string, content: string): string {
    const path = join(this.folder, name);
    writeFileSync(path, content, { mode: 0o600 });
    return path;
  }

  private writeRing(step: number): void {
    const [first, second] = this.keys.map(({ id, key }) => `${id}:${key.toString('base64')}`);
    const rings = [[first], [first, second], [second, first]];
    this.write('encryption-keys', (rings[step] ?? []).join('\n'));
  }

  private async open(): Promise<void> {
    const { plan, cluster } = this.options;
    const listening = ['temporal', ...SERVICES, ...numbersTo(plan.gateways).map(gatewayName)];
    for (const name of listening) this.ports.set(name, await freePort());
    if (cluster) {
      this.ports.set('temporal', Number(cluster.address.split(':')[1]));
      this.parts.set('database', cluster.database);
    } else this.add('temporal', () => this.temporal());
    this.add('service', () => this.service());
    for (const name of lineNames(plan)) {
      const [, to = ''] = name.split(':');
      this.lines.set(name, await Line.open(name, this.port(to)));
    }
    for (const number of numbersTo(plan.workers)) this.add(workerName(number), () => this.worker(number));
    for (const number of numbersTo(plan.gateways)) this.add(gatewayName(number), () => this.gateway(number));
    this.openReceiver();
    await this.bundleWorkflows();
    await Promise.all(['temporal', 'service'].map((name) => this.parts.get(name)?.start()));
    this.connection = await this.connect();
    await this.openClient();
    const others = [...this.parts.keys()].filter((name) => /^(worker|gateway)/.test(name));
    await Promise.all(others.map((name) => this.part(name).start()));
  }

  /** As a host does that encrypts: a worker without a bundle would make its own at every start. */
  private async bundleWorkflows(): Promise<void> {
    const { code } = await bundleWorkflowCode({
      workflowsPath: join(ROOT, 'dist/workflows'),
      failureConverterPath: join(ROOT, 'dist/src/encryption/failure-converter.js'),
      logger: new DefaultLogger('WARN'),
    });
    writeFileSync(this.bundle, code);
  }

  /** The dev server listens before it has its namespace. */
  private async connect(): Promise<Connection> {
    const { address } = this.line('callers:temporal');
    const connection = await Connection.connect({ address, connectTimeout: '30s' });
    for (let left = 100; ; left--) {
      try {
        await connection.workflowService.countWorkflowExecutions({ namespace: 'default' });
        return connection;
      } catch (error) {
        if (left === 0) throw error;
        await sleep(200);
      }
    }
  }

  private async openClient(): Promise<void> {
    if (this.connection === undefined) return;
    const env = this.encryption();
    const client = new TemporalClient({
      connection: this.connection,
      dataConverter: encryptedDataConverter({ env }),
    });
    this.opened = { client, videos: await createVideoClient({ env, client, taskQueue: TASK_QUEUE }) };
  }

  private encryption() {
    return { VIDEOGEN_ENCRYPTION_KEYS_FILE: join(this.folder, 'encryption-keys') };
  }

  private openReceiver(): void {
    const random = seededRandom(`webhooks ${this.options.plan.seed}`);
    this.receiver.on('request', async (request, reply) => {
      const pieces: Buffer[] = [];
      for await (const piece of request) pieces.push(piece);
      const status = random() < REFUSED_WEBHOOKS_SHARE ? 503 : 204;
      const body = JSON.parse(Buffer.concat(pieces).toString());
      this.webhooks.push({ id: String(request.headers['webhook-id']), status, body });
      reply.writeHead(status).end();
    });
    this.receiver.listen(0, '127.0.0.1');
  }

  private add(name: string, launch: () => Launch): void {
    this.parts.set(name, new Part(name, join(this.folder, `${name}.log`), launch));
  }

  private env(more: Record<string, string | undefined> = {}) {
    const { PATH, HOME } = process.env;
    return { PATH, HOME, CHAOS_RUN: this.mark, ...more };
  }

  private temporal(): Launch {
    const port = this.port('temporal');
    const file = join(this.folder, 'temporal.db');
    const args = ['server', 'start-dev', '--ip', '127.0.0.1', '--port', `${port}`, '--headless'];
    // Programs are killed here, and no machine loses its power.
    args.push(
      '--db-filename',
      file,
      '--sqlite-pragma',
      'synchronous=OFF',
      '--sqlite-pragma',
      'journal_mode=WAL',
    );
    args.push('--log-level', 'error');
    args.push('--dynamic-config-value', 'frontend.enableServerVersionCheck=false');
    return { command: this.options.temporalCli, args, env: this.env(), port };
  }

  private service(): Launch {
    const settings: ServiceSettings = {
      folder: this.folder,
      ports: Object.fromEntries(SERVICES.map((name) => [name, this.port(name)])) as Record<
        ServiceName,
        number
      >,
      apiKey: API_KEY,
      jobTimeMs: JOB_TIME_MS,
      videoBytes: VIDEO_BYTES,
      seed: this.options.plan.seed,
      starts: this.serviceStarts++,
    };
    const args = ['--require', join(ROOT, 'test/support/run-typescript.cjs')];
    args.push(join(__dirname, 'service-process.ts'));
    return { command: process.execPath, args, env: this.env({ CHAOS_SERVICE: JSON.stringify(settings) }) };
  }

  private worker(number: number): Launch {
    const name = workerName(number);
    const services = Object.fromEntries(
      SERVICES.map((service) => [
        service,
        { baseUrl: `http://${this.line(`${name}:${service}`).address}`, key: { file: 'service-key' } },
      ]),
    );
    const file = this.write(`services-${number}.json`, JSON.stringify({ services, default: SERVICES[0] }));
    const { port } = this.receiver.address() as AddressInfo;
    return {
      command: process.execPath,
      args: ['--require', join(__dirname, 'worker-preload.cjs'), join(ROOT, 'test/support/worker-main.cjs')],
      env: this.env({
        ...this.encryption(),
        TEMPORAL_ADDRESS: this.line(`${name}:temporal`).address,
        VIDEOGEN_TASK_QUEUE: TASK_QUEUE,
        VIDEOGEN_STORAGE: this.storage,
        VIDEOGEN_SERVICES_FILE: file,
        VIDEOGEN_WEBHOOK_URL: `http://127.0.0.1:${port}/hooks`,
        VIDEOGEN_WEBHOOK_SECRET_FILE: join(this.folder, 'webhook-secret'),
        VIDEOGEN_TEST_BUNDLE: this.bundle,
        CHAOS_TROUBLE: this.troubleFile(number),
        CHAOS_BREAK: this.options.broken,
      }),
    };
  }

  private gateway(number: number): Launch {
    const name = gatewayName(number);
    const port = this.port(name);
    return {
      command: process.execPath,
      args: [MAIN, 'gateway', '--port', `${port}`],
      env: this.env({
        ...this.encryption(),
        TEMPORAL_ADDRESS: this.line(`${name}:temporal`).address,
        VIDEOGEN_TASK_QUEUE: TASK_QUEUE,
        VIDEOGEN_STORAGE: this.storage,
        VIDEOGEN_GATEWAY_KEYS_FILE: join(this.folder, 'gateway-keys'),
      }),
      port,
    };
  }
}

function found<T>(things: Map<string, T>, name: string): T {
  const thing = things.get(name);
  if (thing === undefined) throw new Error(`there is no ${name}`);
  return thing;
}

export function note(folder: string, line: string): void {
  appendFileSync(join(folder, 'run.log'), `${new Date().toISOString()} ${line}\n`);
}
