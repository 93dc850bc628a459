import { randomBytes, randomUUID } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { GetObjectCommand, ListObjectsV2Command } from '@aws-sdk/client-s3';
import type { Client } from '@temporalio/client';
import { historyToJSON } from '@temporalio/common/lib/proto-utils';
import { connectClient } from '../../src/client/connect';
import { makeEncryptionKey } from '../../src/encryption/key-ring';
import { makeKey } from '../../src/gateway/gateway-keys';
import { type DevServer, startDevServer } from '../../src/temporal-server';
import { freePort, LOOPBACK } from '../../src/temporal-server/loopback-port';
import type { Emulator } from '../../src/testing';
import { startEmulator } from '../../src/testing/emulator';
import { startHere } from '../cli/cli-here';
import { endOf, Home, untilErr } from '../cli/cli-process';
import { ofProcess, processesWith } from '../support/child-processes';
import { makePlain } from '../support/plain-history';
import { QUICK_PROFILE } from '../support/quick-profile';
import { S3_SERVER_TIMEOUT_MS, type S3Server, startS3Server } from '../support/s3-server';
import { formsOf, searchDatabase } from '../support/search-database';
import { startTraceCollector, type TraceCollector } from '../support/trace-collector';
import { startWebhookReceiver, type WebhookReceiver } from '../support/webhook-receiver';
import { pause } from '../support/world';

// A busy machine starts twenty processes here.
jest.setTimeout(240_000);

const gatewayKey = makeKey('shop');
const ring = makeEncryptionKey('2026-11');

/** A secret of each kind, none of which anybody may read who does not have it already. */
const SECRETS = {
  'the key of the service': `sk-${randomUUID()}`,
  'the key of the gateway': gatewayKey.key,
  'the secret of the hooks': randomBytes(32).toString('hex'),
  'the key that encrypts': ring.split(':')[1] ?? '',
  'the key of the storage': randomBytes(30).toString('base64'),
  'the key of Temporal': `tk-${randomUUID()}`,
  'a header for Temporal': `th-${randomUUID()}`,
  'the secret of the webhooks': `whsec_${randomBytes(32).toString('base64')}`,
};
type Kind = keyof typeof SECRETS;
const secret = (kind: Kind) => SECRETS[kind];

/** What everybody may read who may read a place: it shows that the place was searched. */
const PROMPT = `A red fox ${randomUUID()}`;

/** What others can read, by the place. */
const places = new Map<string, string>();
const seen = (place: string, text: string) => places.set(place, `${places.get(place) ?? ''}${text}\n`);

/** The places that have a text, in any form in which it can be read. */
function placesWith(text: string): string[] {
  const forms = formsOf(text).map((form) => form.toString('latin1'));
  return [...places].filter(([, said]) => forms.some((form) => said.includes(form))).map(([place]) => place);
}

const home = new Home();
const folder = mkdtempSync(join(tmpdir(), 'videogen-secrets-'));
const database = join(folder, 'temporal.db');
const recorded = join(folder, 'recorded');
const keysFile = join(folder, 'gateway-keys');
/** All programs of this test have it in their environment. */
const mark = randomUUID();

let server: DevServer;
let client: Client;
let emulator: Emulator;
let receiver: WebhookReceiver;
let collector: TraceCollector;
let s3: S3Server;
let ports: { gateway: number; worker: number; monitor: number };

beforeAll(async () => {
  const executable = process.env.VIDEOGEN_TEMPORAL_CLI ?? '';
  [server, emulator, receiver, collector, s3] = await Promise.all([
    startDevServer({
      executable,
      dbFilename: database,
      headless: true,
      logFile: join(folder, 'temporal.log'),
    }),
    startEmulator({ apiKey: secret('the key of the service'), jobTimeMs: 0, videoBytes: 16 * 1024 }),
    // A receiver that refuses gets a webhook again.
    startWebhookReceiver([500, 302]),
    startTraceCollector(),
    startS3Server(secret('the key of the storage')),
  ]);
  writeFileSync(keysFile, gatewayKey.line, { mode: 0o600 });
  ports = { gateway: await freePort(), worker: await freePort(), monitor: await freePort() };
  client = await connectClient(settings());
}, S3_SERVER_TIMEOUT_MS);
afterAll(async () => {
  await client?.connection.close();
  await home.remove();
  await Promise.all([emulator?.close(), receiver?.close(), collector?.close(), s3?.stop()]);
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

function settings(): Record<string, string> {
  const { endpoint, region, credentials } = s3.connection;
  return {
    ...QUICK_PROFILE,
    SECRETS_RUN: mark,
    TMPDIR: folder,
    TEMPORAL_ADDRESS: server.address,
    TEMPORAL_TLS: 'false',
    TEMPORAL_API_KEY: secret('the key of Temporal'),
    TEMPORAL_GRPC_META_X_TENANT: secret('a header for Temporal'),
    VIDEO_API_BASE_URL: emulator.url,
    VIDEO_API_KEY: secret('the key of the service'),
    VIDEOGEN_STORAGE: `s3://${s3.bucket}/foxes`,
    VIDEOGEN_S3_PATH_STYLE: 'true',
    AWS_ENDPOINT_URL_S3: endpoint,
    AWS_REGION: region,
    AWS_ACCESS_KEY_ID: credentials.accessKeyId,
    AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
    VIDEOGEN_ENCRYPTION_KEYS: ring,
    VIDEOGEN_WEBHOOK_URL: receiver.url,
    VIDEOGEN_WEBHOOK_ALLOW: LOOPBACK,
    VIDEOGEN_WEBHOOK_SECRET: secret('the secret of the webhooks'),
    VIDEOGEN_GATEWAY_KEYS_FILE: keysFile,
    VIDEOGEN_GATEWAY_HOOK_SECRET: secret('the secret of the hooks'),
    VIDEOGEN_GATEWAY_CODEC_KEYS: 'shop',
    VIDEOGEN_LOG_LEVEL: 'debug',
  };
}

const tracing = () => ({
  NODE_OPTIONS: `--require ${join(__dirname, '../support/trace-everything.cjs')}`,
  OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
  OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
  OTEL_BSP_SCHEDULE_DELAY: '100',
});

/** A program that runs until the test ends, and what it printed. */
async function startProgram(args: string[], ready: string, env: Record<string, string>) {
  const program = home.start(args, { ...settings(), ...tracing(), ...env });
  await untilErr(program, ready);
  return () => seen(`output of videogen ${args[0]}`, program.out() + program.err());
}

/** What the service quotes in its answers. */
const quoted = () =>
  `Bearer ${secret('the key of the service')} at ${emulator.url}/x?signature=${emulator.linkSignature}`;
const refusal = (status: number) => ({ kind: 'refused', status, message: quoted() }) as const;

/** How the service treats a job, and how the job ends. */
const ENDS: [name: string, prepare: () => void, status: string][] = [
  [
    'a video after all',
    () => {
      emulator.next('submit', { kind: 'rate-limited', retryAfter: 1 }, { kind: 'server-error' });
      emulator.next('status', { kind: 'reset' }, { kind: 'bad-json' }, refusal(403));
      emulator.next('download', { kind: 'cut', afterBytes: 10 }, { kind: 'web-page' }, refusal(403));
    },
    'completed',
  ],
  ['no access', () => emulator.next('submit', refusal(401)), 'failed'],
  ['a refusal', () => emulator.next('submit', refusal(400)), 'failed'],
  [
    'a failed task',
    () => emulator.next('submit', { kind: 'failed-task', code: 'x', message: quoted() }),
    'failed',
  ],
  ['a lost answer', () => emulator.next('submit', { kind: 'cut-body' }), 'failed'],
];

interface Asked extends RequestInit {
  key?: string;
  /** The request itself has a secret in it, which its own sender may be answered. */
  isEchoed?: boolean;
}

async function ask(path: string, { key = gatewayKey.key, isEchoed, ...init }: Asked = {}) {
  const answer = await fetch(`http://${LOOPBACK}:${ports.gateway}${path}`, {
    ...init,
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}`, ...init.headers },
    signal: AbortSignal.timeout(60_000),
  });
  const body = Buffer.from(await answer.arrayBuffer()).toString('latin1');
  if (!isEchoed) seen('answers of the gateway', `${JSON.stringify([...answer.headers])}\n${body}`);
  return { status: answer.status, body };
}

const post = (path: string, body: object, more: Asked = {}) =>
  ask(path, { method: 'POST', body: JSON.stringify(body), ...more });

/** A command that ends, with the settings of the operator. */
async function videogen(...args: string[]): Promise<void> {
  const { out, err } = await endOf(startHere(args, settings()));
  seen(`output of videogen ${args[0]}`, out + err);
}

/** Plays a job to its end, by the gateway. Returns its id there. */
async function play([, prepare, end]: (typeof ENDS)[number]): Promise<string> {
  prepare();
  const { id } = JSON.parse((await post('/v1/videos/text-to-video', { prompt: PROMPT })).body);
  for (;;) {
    const { status, needs_decision: isHeld } = JSON.parse((await ask(`/v1/videos/${id}`)).body);
    if (status === end) return id;
    if (isHeld) await post(`/v1/videos/${id}/decision`, { decision: 'abandon' });
    await pause();
  }
}

/** All that the gateway and the monitors answer, with keys in every place where a client may put one. */
async function knock(ids: readonly string[]): Promise<void> {
  for (const id of ids)
    for (const what of ['', '/content', '/events', '/nothing']) await ask(`/v1/videos/${id}${what}`);
  for (const path of ['/', '/v1/videos', '/page.json', '/openapi.json', '/docs', '/readyz', '/livez'])
    await ask(path);
  const key = gatewayKey.key;
  await ask(`/v1/videos/${key}?key=${key}`, { isEchoed: true });
  await ask('/v1/videos', { key: secret('the key of the service') });
  await post('/v1/videos', { prompt: 1, [key]: key }, { isEchoed: true });
  await post(`/v1/hooks/${secret('the secret of the hooks')}`, { task_id: 'none' });
  await post(`/v1/hooks/${secret('the secret of the hooks')}x`, { task_id: 'none' });
  await post(`/codec/${key}/decode`, { payloads: [{ data: 'AAAA' }] });
  await post(`/codec/${key}/decode`, { payloads: 1 });
  for (const port of [ports.worker, ports.monitor])
    for (const path of ['metrics', 'readyz', 'livez', key]) {
      const answer = await fetch(`http://${LOOPBACK}:${port}/${path}`);
      seen('answers of the monitors', await answer.text());
    }
}

/** Settings with a mistake next to a secret. The program says what is wrong, and ends. */
function mistakes(): Record<string, string>[] {
  const file = (name: string, text: string) => {
    const path = join(folder, name);
    writeFileSync(path, text);
    return path;
  };
  const service = secret('the key of the service');
  const { address } = server;
  const services = { fox: { baseUrl: emulator.url, key: service } };
  return [
    { VIDEO_API_KEY: `${service}\n${service}` },
    { VIDEO_API_BASE_URL: `http://fox:${service}@${LOOPBACK}:1` },
    { VIDEO_API_KEY: '', VIDEO_API_KEY_FILE: file(service, `${service}\n${service}`) },
    { VIDEOGEN_SERVICES_FILE: file('services.json', JSON.stringify({ services })) },
    { VIDEOGEN_SERVICES_FILE: file('cut.json', `{"services":{"fox":{"key":"${service}"`) },
    { VIDEOGEN_PROFILE: file('profile.json', `{"headers":{"x-key":"${service}"},}`) },
    { VIDEOGEN_PROFILE: file('profile.yaml', `headers:\n  x-key: "${service}\n other: 1`) },
    { VIDEOGEN_ENCRYPTION_KEYS: `${ring}${ring}` },
    { VIDEOGEN_ENCRYPTION_KEYS: secret('the key that encrypts') },
    { VIDEOGEN_WEBHOOK_SECRET: `${secret('the secret of the webhooks')}!` },
    { VIDEOGEN_WEBHOOK_URL: `http://fox:${secret('the secret of the webhooks')}@` },
    { VIDEOGEN_GATEWAY_HOOK_SECRET: `${secret('the secret of the hooks')} x` },
    { VIDEOGEN_GATEWAY_KEYS_FILE: file('keys', `shop ${gatewayKey.key}`) },
    { VIDEOGEN_GATEWAY_CODEC_KEYS: gatewayKey.key },
    { AWS_SECRET_ACCESS_KEY: `${secret('the key of the storage')}x` },
    { VIDEOGEN_STORAGE: `s3://tester:${secret('the key of the storage')}@videos/x` },
    { TEMPORAL_API_KEY: `${secret('the key of Temporal')}\u0001` },
    { TEMPORAL_ADDRESS: `fox:${secret('the key of Temporal')}@${address}` },
    { TEMPORAL_GRPC_META_X_TENANT: `${secret('a header for Temporal')}\u0001` },
    {
      TEMPORAL_CONFIG_FILE: file('c.toml', `[profile.default]\napi_key = "${secret('the key of Temporal')}`),
    },
    { TEMPORAL_TLS: 'true' },
  ];
}

async function makeMistakes(): Promise<void> {
  const waiting = mistakes();
  const makeNext = async (): Promise<void> => {
    const mistake = waiting.pop();
    if (mistake === undefined) return;
    const name = Object.keys(mistake).at(-1) ?? '';
    const program = home.start([/GATEWAY/.test(name) ? 'gateway' : 'worker'], { ...settings(), ...mistake });
    const late = setTimeout(() => program.kill('SIGTERM'), ENDS_WITHIN_MS);
    const { out, err } = await endOf(program);
    clearTimeout(late);
    seen(`what ${name} makes a program say`, out + err);
    return makeNext();
  };
  await Promise.all([makeNext(), makeNext()]);
}

/** A program that tries to reach something goes on trying. */
const ENDS_WITHIN_MS = 5_000;

/** The command lines of all programs of this test, which everybody on the machine may read. */
function readCommandLines(): void {
  for (const pid of processesWith(mark, 'environ')) seen('command lines', ofProcess(pid, 'cmdline'));
}

/** The histories as Temporal has them, and as those read them who have the key. */
async function readHistories(): Promise<void> {
  for await (const { workflowId, runId, memo, raw } of client.workflow.list()) {
    const history = await client.workflow.getHandle(workflowId, runId).fetchHistory();
    seen('histories', historyToJSON(history));
    await makePlain(client, history);
    seen('histories', historyToJSON(history));
    seen('lists of workflows', JSON.stringify([memo, raw]));
  }
}

async function readStorage(): Promise<void> {
  const { Contents = [] } = await s3.client.send(new ListObjectsV2Command({ Bucket: s3.bucket }));
  for (const { Key } of Contents) {
    const { Body, Metadata } = await s3.client.send(new GetObjectCommand({ Bucket: s3.bucket, Key }));
    const bytes = Buffer.from((await Body?.transformToByteArray()) ?? []);
    seen('storage', `${Key} ${JSON.stringify(Metadata)}\n${bytes.toString('latin1')}`);
  }
}

/** What the programs left in folders, except the files that hold secrets because somebody wrote them there. */
function readFolders(): void {
  for (const name of readdirSync(recorded)) seen('recordings', readFileSync(join(recorded, name), 'latin1'));
  seen('log of Temporal', readFileSync(join(folder, 'temporal.log'), 'latin1'));
}

test('no secret is in what jobs leave, and programs print, answer, send or show', async () => {
  const monitor = (port: number) => ({ VIDEOGEN_MONITOR_PORT: String(port) });
  const stop = [
    await startProgram(['worker', '--record', recorded], 'Working on', monitor(ports.worker)),
    await startProgram(
      ['gateway', '--port', `${ports.gateway}`],
      'The gateway is at',
      monitor(ports.monitor),
    ),
  ];
  const ids: string[] = [];
  for (const end of ENDS) ids.push(await play(end));
  readCommandLines();
  await knock(ids);
  const [first = ''] = ids;
  const job = `gateway-shop-${first}`;
  await videogen('generate', PROMPT, '--id', 'fox', '--out', join(folder, 'fox.mp4'));
  expect(existsSync(join(folder, 'fox.mp4'))).toBe(true);
  await videogen('status', job);
  await videogen('watch', job);
  await videogen('retry', `gateway-shop-${ids[2]}`);
  await videogen('list');
  await videogen('spend');
  await videogen('doctor');
  await videogen('explain', recorded);
  await videogen('forget', job, '--dry-run');
  await makeMistakes();
  await readHistories();
  await readStorage();
  readFolders();
  for (const end of stop) end();
  seen('traces', collector.text());
  for (const { headers, body } of receiver.received) seen('webhooks', JSON.stringify([headers, body]));

  expect(emulator.scriptIsSpent()).toBe(true);
  expect(places.size).toBeGreaterThan(25);
  // The prompt is where it belongs, so these places were searched.
  expect(placesWith(PROMPT)).toEqual(
    expect.arrayContaining(['answers of the gateway', 'histories', 'recordings', 'storage']),
  );
  for (const [place, said] of places) expect([place, said.length > 40]).toEqual([place, true]);
  const found = [
    ...Object.entries(SECRETS),
    ['the signature of links', emulator.linkSignature] as const,
  ].flatMap(([kind, value]) => placesWith(value).map((place) => `${kind} in ${place}`));
  expect(found).toEqual([]);
  expect(await searchDatabase(database, [...Object.values(SECRETS), PROMPT])).toEqual([]);
});
