import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createHttp2Server, type Http2Server } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CheckReport } from '../../src/cli/doctor';
import { run } from '../../src/cli/run';
import type { Emulator } from '../../src/testing';
import { startEmulator } from '../../src/testing/emulator';
import { eventually } from '../temporal-server/eventually';
import { runHere } from './cli-here';
import { FakeTerminal } from './fake-terminal';

const KEY = 'sk-doctor-secret';
const NOWHERE = 'http://127.0.0.1:1';

let folder: string;
let emulator: Emulator;
const closers: (() => void)[] = [];
beforeAll(async () => {
  emulator = await startEmulator({ apiKey: KEY });
});
afterAll(() => emulator.close());
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'videogen-doctor-'));
});
afterEach(() => {
  for (const close of closers.splice(0)) close();
  rmSync(folder, { recursive: true });
});

/** The settings of a machine with a Temporal CLI and no server. All checks pass unless a test changes something. */
function settings(env: Record<string, string | undefined> = {}): Record<string, string | undefined> {
  return {
    HOME: folder,
    VIDEOGEN_TEMPORAL_CLI: process.execPath,
    VIDEOGEN_DATA: join(folder, 'data'),
    VIDEOGEN_CACHE: join(folder, 'cache'),
    VIDEOGEN_STORAGE: join(folder, 'videos'),
    ...env,
  };
}

const doctor = (env: Record<string, string | undefined> = {}, args: string[] = []) =>
  runHere(['doctor', ...args], settings(env));

async function examine(env: Record<string, string | undefined> = {}) {
  const { code, out, err } = await doctor(env, ['--json']);
  const report: { ok: boolean; checks: CheckReport[] } = JSON.parse(out);
  expect(code).toBe(report.ok ? 0 : 2);
  const check = (name: string): CheckReport | undefined => report.checks.find((one) => one.name === name);
  return { ...report, code, out, err, check };
}

const atEmulator = () => ({ VIDEO_API_BASE_URL: emulator.url, VIDEO_API_KEY: KEY });

async function listen(server: Server | Http2Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function serve(answer: RequestListener): Promise<string> {
  const server = createServer(answer);
  closers.push(() => server.close().closeAllConnections());
  return `http://${await listen(server)}`;
}

/** A fake Temporal server that refuses every call. */
async function serveGrpc(code: number, message: string): Promise<string> {
  const server = createHttp2Server();
  server.on('session', (session) => closers.push(() => session.destroy()));
  closers.push(() => server.close());
  server.on('stream', (stream) => {
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
    stream.on('wantTrailers', () =>
      stream.sendTrailers({ 'grpc-status': `${code}`, 'grpc-message': message }),
    );
    stream.end();
  });
  return listen(server);
}

describe('the report', () => {
  it('has a line for each check on standard output, in a fixed order', async () => {
    const { code, out, err } = await doctor(atEmulator());
    expect([code, err]).toEqual([0, '']);
    const lines = out.trimEnd().split('\n');
    expect(lines.slice(0, -1).map((line) => line.split(/ +/).slice(0, 2).join(' '))).toEqual([
      'ok versions',
      'ok settings',
      'ok temporal',
      'ok namespace',
      'ok encryption',
      'ok workers',
      'ok service',
      'ok storage',
    ]);
    expect(lines.at(-1)).toBe('Ready to generate.');
  });

  it('is one object on standard output with --json, with every problem, its fix and what was skipped', async () => {
    const file = join(folder, 'file');
    writeFileSync(file, '');
    const { checks, out, err } = await examine({
      TEMPORAL_ADDRESS: '127.0.0.1:1',
      VIDEO_API_BASE_URL: NOWHERE,
      VIDEO_API_KEY: KEY,
      VIDEOGEN_TASK_QUEUE: ' ',
      VIDEOGEN_STORAGE: join(file, 'videos'),
    });
    expect(out).toMatch(/^\{[^\n]+\}\n$/);
    expect(checks.map(({ name, ok, found, fix = '' }) => [name, ok || found, fix])).toEqual([
      ['versions', true, ''],
      ['settings', 'invalid: 1', expect.stringMatching(/^VIDEOGEN_TASK_QUEUE /)],
      [
        'temporal',
        'no answer from 127.0.0.1:1 (connect ECONNREFUSED 127.0.0.1:1)',
        expect.stringContaining('set TEMPORAL_ADDRESS'),
      ],
      ['namespace', 'skipped: it needs temporal', ''],
      ['encryption', 'skipped: it needs temporal', ''],
      ['workers', 'skipped: it needs temporal', ''],
      [
        'service',
        expect.stringMatching(/^http:\/\/127\.0\.0\.1:1.*ECONNREFUSED.*: the request got no answer$/),
        expect.stringContaining('Correct VIDEO_API_BASE_URL'),
      ],
      ['storage', expect.stringContaining('ENOTDIR'), expect.stringMatching(/^Make it a folder that /)],
    ]);
    expect(err).toMatch(/^failed {3}settings {4}invalid: 1\n {21}VIDEOGEN_TASK_QUEUE /m);
    expect(err).toMatch(/\nNot ready: 4 of 8 checks failed, 3 skipped\.\n$/);
  });

  it('stops on Ctrl-C', async () => {
    const terminal = new FakeTerminal(settings({ TEMPORAL_ADDRESS: '127.0.0.1:1' }));
    const ending = run(['doctor'], terminal);
    await eventually('doctor listens', () => terminal.listeners > 0);
    terminal.interrupt();
    expect(await ending).toBe(130);
    expect(terminal.stdout).not.toContain('eady');
  });
});

describe('settings', () => {
  it('that are misspelt are reported with the right name, and without their value', async () => {
    const { check, out, err } = await examine({ VIDEOGEN_API_KEY: 'sk-secret' });
    expect(check('settings')).toEqual({
      name: 'settings',
      ok: false,
      found: 'invalid: 1',
      fix: 'VIDEOGEN_API_KEY is not a setting: did you mean VIDEO_API_KEY?',
    });
    expect(out + err).not.toContain('sk-secret');
  });

  it('that are unknown are a warning, because another program may use them; blank ones count as unset', async () => {
    const env = {
      VIDEOGEN_COLOUR: 'red',
      VIDEOGEN_: 'x',
      TEMPORAL_CODEC_ENDPOINT: 'x',
      VIDEOGEN_STORGE: ' ',
    };
    const { check, err } = await examine({ ...env, VIDEO_API_KEY: '' });
    expect(check('settings')).toMatchObject({
      ok: true,
      found: 'all are valid; not used: VIDEOGEN_COLOUR, VIDEOGEN_',
    });
    expect(err).toContain('Ready to generate. Warnings: 1.');
  });

  it('that are invalid are reported in one line each, and what needs them is skipped', async () => {
    const invalid = { VIDEO_API_BASE_URL: 'nonsense', VIDEOGEN_STORAGE: 'gs://bucket', TEMPORAL_TLS: 'yes' };
    const { check } = await examine(invalid);
    const lines = check('settings')?.fix?.split('\n') ?? [];
    expect(lines.map((line) => line.split(' ')[0]).sort()).toEqual(
      [...Object.keys(invalid), 'VIDEO_API_KEY'].sort(),
    );
    expect(check('storage')).toMatchObject({ ok: false, found: 'skipped: it needs settings' });
  });
});

describe('a key', () => {
  it('is checked with one poll and no generation', async () => {
    const before = emulator.calls.length;
    const { check } = await examine(atEmulator());
    expect(check('service')).toEqual({
      name: 'service',
      ok: true,
      found: `${emulator.url}/ answered 404 for a task that does not exist, so the key is accepted`,
    });
    expect(emulator.calls.slice(before)).toMatchObject([
      { method: 'GET', path: expect.stringMatching(/^\/v1\/videos\/doctor-[0-9a-f-]{36}$/) },
    ]);
  });

  const notTheService = /: it is probably not the video service$/;
  it.each<[number, string, boolean, RegExp, RegExp]>([
    [200, '<html>Welcome</html>', false, notTheService, /^Correct VIDEO_API_BASE_URL/],
    [401, '', false, /answered 401: the key is refused$/, /^Set VIDEO_API_KEY/],
    [402, '', false, /answered 402: the account has no credit$/, /^Add credit/],
    [400, '{"error":"bad id"}', true, /answered 400/, /message/],
    [429, '{}', true, /answered 429/, /^Try again later\.$/],
    [503, '', false, /answered 503: the service failed$/, /^Try again later\.$/],
    [301, '', false, /it redirects$/, /https:\/\//],
  ])('answered with HTTP %d and %j is reported for what it is', async (status, body, ok, found, fix) => {
    const headers = { location: 'https://elsewhere.example', 'content-type': 'application/json' };
    const url = await serve((_request, response) => response.writeHead(status, headers).end(body));
    const { check } = await examine({ VIDEO_API_BASE_URL: url, VIDEO_API_KEY: KEY });
    expect(check('service')).toEqual({
      name: 'service',
      ok,
      found: expect.stringMatching(found),
      fix: expect.stringMatching(fix),
    });
  });

  it('is never printed, even if the service repeats it', async () => {
    const VIDEO_API_KEY_FILE = join(folder, 'key');
    writeFileSync(VIDEO_API_KEY_FILE, `${KEY}\n`);
    const url = await serve((request, response) => {
      const message = `no ${request.headers.authorization} here`;
      response.writeHead(500, message).end(JSON.stringify({ code: 7, message }));
    });
    const { out, err } = await doctor({ VIDEO_API_BASE_URL: url, VIDEO_API_KEY_FILE }, ['--json']);
    for (const printed of [out, err]) expect(printed).toContain('answered 500');
    expect(out + err).not.toContain(KEY);
  });
});

it('a service and a bucket that never answer are not waited for', async () => {
  const silent = await serve(() => undefined);
  const { check } = await examine({
    VIDEO_API_BASE_URL: silent,
    VIDEO_API_KEY: KEY,
    VIDEOGEN_STORAGE: 's3://videos/checked',
    VIDEOGEN_S3_PATH_STYLE: 'true',
    AWS_ENDPOINT_URL_S3: silent,
    AWS_REGION: 'us-east-1',
    AWS_ACCESS_KEY_ID: 'fox',
    AWS_SECRET_ACCESS_KEY: 'secret',
  });
  expect(check('service')).toMatchObject({
    ok: false,
    found: expect.stringMatching(/no complete answer within/),
  });
  expect(check('storage')).toMatchObject({
    ok: false,
    found: expect.stringMatching(/: no answer within \d s$/),
  });
});

it('a storage that can be written has nothing more in it afterwards', async () => {
  const { check } = await examine();
  expect(check('storage')).toMatchObject({ ok: true, found: expect.stringMatching(/ can be written$/) });
  expect(readdirSync(join(folder, 'videos'))).toEqual([]);
});

describe('Temporal', () => {
  it('is distinguished from another program that listens at its address', async () => {
    const { check } = await examine({ TEMPORAL_ADDRESS: new URL(emulator.url).host });
    expect(check('temporal')).toMatchObject({
      ok: false,
      found: expect.stringContaining('does not answer like a Temporal server'),
    });
    expect(check('service')).toMatchObject({
      ok: true,
      found: 'VIDEO_API_BASE_URL is not set here: workers use their own; one that starts here needs it',
    });
  });

  it('that generate would start is searched on PATH, and nothing is installed', async () => {
    const bin = join(folder, 'bin');
    mkdirSync(bin);
    writeFileSync(join(bin, 'temporal'), '#!/bin/sh\nexit 1\n', { mode: 0o755 });
    const { check } = await examine({ VIDEOGEN_TEMPORAL_CLI: undefined, PATH: bin });
    const found = expect.stringMatching(/generate starts a server with .+bin\/temporal$/);
    expect(check('temporal')).toMatchObject({ ok: true, found });
    expect([existsSync(join(folder, 'cache')), existsSync(join(folder, 'data'))]).toEqual([false, false]);
  });

  it('that refuses the key is reported with the fix, and without the key', async () => {
    const address = await serveGrpc(16, 'bad token sk-temporal');
    const env = { TEMPORAL_ADDRESS: address, TEMPORAL_API_KEY: 'sk-temporal', TEMPORAL_TLS: 'false' };
    const { check, out, err } = await examine(env);
    expect(check('temporal')).toMatchObject({
      ok: false,
      found: expect.stringContaining('UNAUTHENTICATED: bad token …'),
      fix: expect.stringContaining('Set TEMPORAL_API_KEY'),
    });
    expect(out + err).not.toContain('sk-temporal');
  });
});

test('each service of the file is asked with its key, and a failed one is named with what to correct', async () => {
  const VIDEOGEN_SERVICES_FILE = join(folder, 'services.json');
  const at = (baseUrl: string, env: string) => ({ baseUrl, key: { env } });
  const services = { first: at(emulator.url, 'GOOD_KEY'), second: at(emulator.url, 'OTHER_KEY') };
  const examineWith = (more: object, keys: Record<string, string>) => {
    writeFileSync(VIDEOGEN_SERVICES_FILE, JSON.stringify({ services: { ...services, ...more } }));
    return examine({ VIDEOGEN_SERVICES_FILE, GOOD_KEY: KEY, ...keys });
  };
  const refused = await examineWith({}, { OTHER_KEY: 'sk-wrong' });
  expect(refused.check('service')?.found).toMatch(
    /^first: .+ the key is accepted; second: .+ answered 401 .+: the key is refused/,
  );
  const silent = await examineWith({ second: at(NOWHERE, 'OTHER_KEY') }, { OTHER_KEY: KEY });
  expect(silent.check('service')).toMatchObject({ ok: false });
  expect(silent.check('service')?.fix).toContain('second: Correct it in VIDEOGEN_SERVICES_FILE');
  const missing = await examineWith({}, {});
  expect(missing.check('service')?.fix).toContain('names OTHER_KEY, which is not set');
  expect(missing.out).not.toContain(KEY);
});
