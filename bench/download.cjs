// How fast one 1 GiB video gets from loopback to a file, with its SHA-256, and how much memory that takes: ours against
// curl with sha256sum after it, and against undici, a hashing Transform and createWriteStream. Each runs in a process of
// its own, in turns; at last a whole job in a worker, for its memory. GIB=1 ROUNDS=3 npm run bench:download
const { spawn, spawnSync } = require('node:child_process');
const { createHash } = require('node:crypto');
const { createWriteStream } = require('node:fs');
const { mkdtemp, rm } = require('node:fs/promises');
const { createServer } = require('node:http');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { Transform } = require('node:stream');
const { pipeline } = require('node:stream/promises');

const BYTES = Math.round(Number(process.env.GIB ?? 1) * 1024 ** 3);
const ROUNDS = Number(process.env.ROUNDS ?? 3);
const MIB = 1024 ** 2;

const WAYS = { ours, transform, worker };

async function main() {
  const [, , way, url, folder] = process.argv;
  if (way === 'serve') return serve();
  if (way !== undefined) return runWay(WAYS[way], url, folder);
  const server = spawn(process.execPath, [__filename, 'serve'], { stdio: ['pipe', 'pipe', 'inherit'] });
  const port = await new Promise((resolve) => server.stdout.once('data', (text) => resolve(Number(text))));
  const base = `http://127.0.0.1:${port}`;
  try {
    const best = {};
    for (let round = 1; round <= ROUNDS; round++) {
      for (const name of ['curl', 'transform', 'ours']) {
        const folder = await mkdtemp(join(tmpdir(), 'videogen-bench-'));
        const measured = name === 'curl' ? curl(`${base}/video`, folder) : inProcess(name, base, folder);
        await rm(folder, { recursive: true });
        const { seconds, rssMib, sha256 } = measured;
        const memory = rssMib === undefined ? '' : `, at most ${rssMib.toFixed(0)} MiB above idle`;
        tell(`round ${round}  ${name.padEnd(9)} ${seconds.toFixed(2)} s  ${speed(seconds)} MB/s${memory}`);
        const sofar = best[name];
        best[name] = {
          seconds: Math.min(seconds, sofar?.seconds ?? seconds),
          rssMib: Math.max(rssMib ?? 0, sofar?.rssMib ?? 0),
          sha256,
        };
        if (sofar && sofar.sha256 !== sha256) throw new Error(`${name} got another file than before`);
      }
    }
    const hashes = new Set(Object.values(best).map(({ sha256 }) => sha256));
    if (hashes.size !== 1) throw new Error('they did not get the same file');
    const told = Object.entries(best).map(([name, { seconds }]) => `${name} ${speed(seconds)} MB/s`);
    tell(`best of ${ROUNDS}, ${BYTES} bytes with SHA-256: ${told.join(', ')}`);
    const folder = await mkdtemp(join(tmpdir(), 'videogen-bench-'));
    const { rssMib } = inProcess('worker', base, folder);
    await rm(folder, { recursive: true });
    tell(`a worker that downloads it held at most ${rssMib.toFixed(0)} MiB more than an idle one`);
  } finally {
    server.kill();
  }
}

const tell = (line) => process.stdout.write(`${line}\n`);
const speed = (seconds) => Math.round(BYTES / 1e6 / seconds);

/** The service and its storage in one: a small video, made long by a box of noise. */
async function serve() {
  const { noiseVideo } = require('../dist/src/emulator');
  const noise = await noiseVideo({ prompt: 'bench' }, MIB);
  const [small] = splitBoxes(noise);
  const free = Buffer.alloc(16);
  free.writeUInt32BE(1, 0);
  free.write('free', 4, 'latin1');
  free.writeBigUInt64BE(BigInt(BYTES - small.length), 8);
  const head = Buffer.concat([small, free]);
  const server = createServer((request, response) => {
    if (!request.url.startsWith('/video')) {
      const video_url = `http://${request.headers.host}/video`;
      return response.end(JSON.stringify({ status: 'succeeded', video_url }));
    }
    response.writeHead(200, { 'content-type': 'video/mp4', 'content-length': BYTES, etag: '"bench"' });
    response.write(head);
    let left = BYTES - head.length;
    const more = () => {
      while (left > 0) {
        const chunk = left < noise.length ? noise.subarray(0, left) : noise;
        left -= chunk.length;
        if (!response.write(chunk)) return response.once('drain', more);
      }
      response.end();
    };
    more();
  });
  server.listen(0, '127.0.0.1', () => process.stdout.write(`${server.address().port}\n`));
  process.stdin.on('end', () => process.exit()).resume();
}

/** All boxes before the last one, which is the filling. */
function splitBoxes(video) {
  let at = 0;
  for (;;) {
    const end = at + video.readUInt32BE(at);
    if (end >= video.length) return [video.subarray(0, at), video.subarray(at)];
    at = end;
  }
}

function curl(url, folder) {
  const file = join(folder, 'video.mp4');
  const begun = performance.now();
  const got = spawnSync('curl', ['--silent', '--fail', '--output', file, url]);
  if (got.status !== 0) throw new Error(`curl ended with ${got.status ?? got.error}`);
  const [sha256] = spawnSync('sha256sum', [file], { encoding: 'utf8' }).stdout.split(' ');
  return { seconds: (performance.now() - begun) / 1_000, sha256 };
}

function inProcess(name, base, folder) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [__filename, name, base, folder], {
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`${name} failed: ${stderr}`);
  return JSON.parse(stdout.trim().split('\n').at(-1));
}

async function runWay(way, base, folder) {
  const prepared = await way(base, folder);
  const idle = process.memoryUsage().rss;
  let highest = idle;
  const watch = setInterval(() => {
    highest = Math.max(highest, process.memoryUsage().rss);
  }, 20);
  const begun = performance.now();
  const sha256 = await prepared();
  const seconds = (performance.now() - begun) / 1_000;
  clearInterval(watch);
  tell(JSON.stringify({ seconds, rssMib: (highest - idle) / MIB, sha256 }));
  process.exit();
}

async function ours(baseUrl, folder) {
  const { MockActivityEnvironment } = require('@temporalio/testing');
  const { createFileStorage, createVideoActivities, createVideoService } = require('../dist/src');
  const service = createVideoService({ baseUrl, apiKey: () => 'bench' });
  const { downloadVideo } = createVideoActivities({ service, storage: createFileStorage(folder) });
  const environment = new MockActivityEnvironment();
  return async () => (await environment.run(downloadVideo, { taskId: 'bench', startedAtMs: 0 })).video.sha256;
}

/** A whole job, on a Temporal server, in the process of its worker. */
async function worker(baseUrl, folder) {
  const { createVideoTestEnvironment } = require('../dist/src/testing');
  const { createFileStorage, createVideoService } = require('../dist/src');
  const env = await createVideoTestEnvironment({ server: 'dev' });
  const service = createVideoService({ baseUrl, apiKey: () => 'bench' });
  const worker = await env.createWorker({ service, storage: createFileStorage(folder) });
  const running = worker.run();
  // What it took to bundle the workflows is not what it takes to wait for work.
  await new Promise((resolve) => setTimeout(resolve, 3_000));
  return async () => {
    const { video } = await env.videos.execute({ taskId: 'bench' });
    worker.shutdown();
    await running;
    await env.teardown();
    return video.sha256;
  };
}

async function transform(baseUrl, folder) {
  const { request } = require('undici');
  return async () => {
    const { body } = await request(`${baseUrl}/video`);
    const hash = createHash('sha256');
    const hashing = new Transform({
      transform(chunk, _encoding, done) {
        hash.update(chunk);
        done(null, chunk);
      },
    });
    await pipeline(body, hashing, createWriteStream(join(folder, 'video.mp4')));
    return hash.digest('hex');
  };
}

main().catch((error) => {
  process.stderr.write(`${error.stack}\n`);
  process.exitCode = 1;
});
