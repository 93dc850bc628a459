import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect } from 'node:net';
import { join } from 'node:path';
import { createServer, type Server } from 'node:tls';
import type { CheckReport } from '../../src/cli/doctor';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import { type CliEnd, Home, lastLine, untilErr } from '../cli/cli-process';

jest.setTimeout(120_000);

let env: VideoTestEnvironment;
let home: Home;
let proxy: Server;
/** Temporal behind TLS, for clients that trust its authority. */
let settings: Record<string, string>;
let authority: string;

beforeAll(async () => {
  env = await createVideoTestEnvironment({ server: 'dev', emulator: { jobTimeMs: 0 } });
  home = new Home();
  authority = join(home.folder, 'authority.pem');
  proxy = await startTlsProxy(env.temporal.address);
  settings = {
    TEMPORAL_ADDRESS: `localhost:${(proxy.address() as AddressInfo).port}`,
    TEMPORAL_TLS: 'true',
    VIDEO_API_BASE_URL: env.emulator.url,
    VIDEO_API_KEY: env.emulator.apiKey,
    // Of Node, for clients. The worker's core does not read it.
    NODE_EXTRA_CA_CERTS: authority,
  };
});
afterAll(async () => {
  await home.remove();
  proxy.close();
  await env.teardown();
});

/** Makes an authority, and a certificate of it for localhost. */
function makeCertificate(): { key: string; cert: string } {
  const openssl = (command: string) =>
    execFileSync('openssl', command.split(' '), { cwd: home.folder, stdio: 'pipe' });
  const newKey = '-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes';
  openssl(`req -x509 ${newKey} -keyout authority.key -out authority.pem -subj /CN=authority -days 2`);
  openssl(`req ${newKey} -keyout server.key -out server.csr -subj /CN=localhost`);
  writeFileSync(join(home.folder, 'names'), 'subjectAltName=DNS:localhost\n');
  openssl(
    'x509 -req -in server.csr -CA authority.pem -CAkey authority.key -CAcreateserial -extfile names -out server.pem -days 2',
  );
  const read = (file: string) => readFileSync(join(home.folder, file), 'utf8');
  return { key: read('server.key'), cert: read('server.pem') };
}

/** The dev server has no TLS of its own. */
async function startTlsProxy(address: string): Promise<Server> {
  const [host, port] = address.split(':');
  const server = createServer({ ...makeCertificate(), ALPNProtocols: ['h2'] }, (client) => {
    const temporal = connect(Number(port), host);
    client.pipe(temporal).pipe(client);
    client.on('error', () => temporal.destroy());
    temporal.on('error', () => client.destroy());
  });
  server.listen(0, 'localhost');
  await once(server, 'listening');
  return server;
}

/** As in an image without the package ca-certificates. */
const NO_ROOTS = { SSL_CERT_FILE: '/nowhere/certs.pem', SSL_CERT_DIR: '/nowhere' };

const temporalOf = ({ out }: CliEnd) => {
  const { checks }: { checks: CheckReport[] } = JSON.parse(out);
  return checks.find(({ name }) => name === 'temporal');
};

const MISSING = /no root certificates, so install them \(in Debian the package ca-certificates\)/;

test('a machine without root certificates is told to install them, unless the authority is your own', async () => {
  const worker = await home.run(['worker'], { ...settings, ...NO_ROOTS });
  expect(worker).toEqual({ code: expect.any(Number), out: '', err: expect.stringMatching(MISSING) });
  expect(worker.code).not.toBe(0);
  const own = { ...settings, ...NO_ROOTS, TEMPORAL_TLS_SERVER_CA_CERT_PATH: authority };
  const [examined, withOwn] = await Promise.all([
    home.run(['doctor', '--json'], { ...settings, ...NO_ROOTS }),
    home.run(['doctor', '--json'], own),
  ]);
  expect(temporalOf(examined)).toMatchObject({ ok: false, found: expect.stringMatching(MISSING) });
  expect(temporalOf(withOwn)).toMatchObject({ ok: true });
});

test('a worker makes a video over TLS with the root certificates of the machine', async () => {
  const withRoots = { ...settings, SSL_CERT_FILE: authority };
  const worker = home.start(['worker'], withRoots);
  await untilErr(worker, 'Working on');
  const made = await home.run(['generate', 'A red fox in the snow', '--json'], withRoots);
  expect(lastLine(made)).toMatchObject({ taskId: expect.any(String), video: { codec: 'avc' } });
  worker.kill('SIGTERM');
  expect(await worker.ended).toBe(0);
});
