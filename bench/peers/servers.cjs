/** The servers of the peers: each on a free port of loopback, with its data in a temporary folder. */
const { execFileSync, spawn } = require('node:child_process');
const { chownSync, existsSync, readdirSync } = require('node:fs');
const { once } = require('node:events');
const { connect, createServer } = require('node:net');
const { delimiter, join } = require('node:path');
const { setTimeout: sleep } = require('node:timers/promises');

const READY_WITHIN_MS = 30_000;
const STOPPED_WITHIN_MS = 5_000;
const DEBIAN_POSTGRES = '/usr/lib/postgresql';

/** A server cannot be had on this machine. The message says how to get it. */
class Absent extends Error {}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}

function onPath(name, folders = []) {
  const found = [...(process.env.PATH ?? '').split(delimiter), ...folders]
    .map((folder) => join(folder, name))
    .find((file) => existsSync(file));
  return found;
}

function accepts(port) {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    const end = (isOpen) => {
      socket.destroy();
      resolve(isOpen);
    };
    socket.once('connect', () => end(true)).once('error', () => end(false));
  });
}

/** Starts a program and waits until its ports accept connections: `{ pid, stop }`. `stop` ends it by its process id. */
async function start(program, args, { ports, ...options }) {
  const { endWithParent } = require('../../dist/src/temporal-server/child-process');
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], ...options });
  endWithParent(child);
  let printed = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => {
      printed = (printed + text).slice(-2_000);
    });
  }
  const ended = once(child, 'exit');
  const stop = async () => {
    // PostgreSQL frees its shared memory only when it may end by itself.
    child.kill('SIGINT');
    const isLate = sleep(STOPPED_WITHIN_MS, true, { ref: false });
    if ((await Promise.race([ended, isLate])) === true) child.kill('SIGKILL');
    await ended;
  };
  const giveUpAt = Date.now() + READY_WITHIN_MS;
  while (!(await Promise.all(ports.map(accepts))).every(Boolean)) {
    if (child.exitCode !== null || Date.now() > giveUpAt) {
      await stop();
      throw new Error(`${program} did not start: ${printed.trim()}`);
    }
    await sleep(50);
  }
  return { pid: child.pid, stop };
}

async function startRedis(folder) {
  const program = onPath('redis-server');
  if (program === undefined) throw new Absent('redis-server is not installed: apt-get install redis-server.');
  const port = await freePort();
  const args = ['--port', port, '--bind', '127.0.0.1', '--dir', folder, '--save', '', '--appendonly', 'yes'];
  const version = execFileSync(program, ['--version'], { encoding: 'utf8' }).match(/v=(\S+)/)[1];
  return {
    port,
    versions: { Redis: version },
    ...(await start(program, args.map(String), { ports: [port] })),
  };
}

/** Debian keeps the programs of each version in a folder that is not on the PATH. */
function postgresFolders() {
  if (!existsSync(DEBIAN_POSTGRES)) return [];
  return readdirSync(DEBIAN_POSTGRES).map((version) => join(DEBIAN_POSTGRES, version, 'bin'));
}

/** PostgreSQL refuses to run as root, so root runs it as the user of Debian's package. */
function postgresUser() {
  if (process.getuid() !== 0) return {};
  const id = (flag) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}

/** A new database, and how it is started: `{ command, args, options, port, versions }`. */
async function preparePostgres(folder) {
  const initdb = onPath('initdb', postgresFolders());
  if (initdb === undefined) throw new Absent('PostgreSQL is not installed: apt-get install postgresql.');
  const command = join(initdb, '../postgres');
  const user = postgresUser();
  if (user.uid !== undefined) chownSync(folder, user.uid, user.gid);
  const data = join(folder, 'data');
  const options = { ...user, cwd: folder };
  execFileSync(initdb, ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8'], {
    ...options,
    stdio: 'ignore',
  });
  const port = await freePort();
  const args = ['-D', data, '-p', String(port), '-k', folder, '-c', 'listen_addresses=127.0.0.1'];
  const version = execFileSync(command, ['--version'], { encoding: 'utf8' }).match(/\d[\d.]*/)[0];
  return { command, args, options, port, versions: { PostgreSQL: version } };
}

async function startPostgres(folder) {
  const { command, args, options, port, versions } = await preparePostgres(folder);
  return { port, versions, ...(await start(command, args, { ...options, ports: [port] })) };
}

async function startRestate(folder) {
  const platform = `@restatedev/restate-server-${process.platform}-${process.arch}`;
  const bin = join(__dirname, 'restate/node_modules', platform, 'bin/restate-server');
  if (!existsSync(bin)) throw new Absent(`${platform} is not installed: npm run peers.`);
  const [port, adminPort, nodePort] = [await freePort(), await freePort(), await freePort()];
  const local = (at) => `127.0.0.1:${at}`;
  const env = {
    ...process.env,
    DO_NOT_TRACK: '1',
    RESTATE_DISABLE_TELEMETRY: 'true',
    RESTATE_LISTEN_MODE: 'tcp',
    RESTATE_BIND_ADDRESS: local(nodePort),
    RESTATE_ADVERTISED_ADDRESS: `http://${local(nodePort)}`,
    RESTATE_INGRESS__BIND_ADDRESS: local(port),
    RESTATE_ADMIN__BIND_ADDRESS: local(adminPort),
    RESTATE_LOG_FILTER: 'error',
  };
  const args = ['--base-dir', join(folder, 'data')];
  const running = await start(bin, args, { env, cwd: folder, ports: [port, adminPort] });
  return { port, adminPort, versions: {}, ...running };
}

module.exports = { Absent, freePort, preparePostgres, start, startPostgres, startRedis, startRestate };
