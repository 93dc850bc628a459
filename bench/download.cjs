/**
 * Section (e): the download of one 1 GiB video from loopback to a file, with its SHA-256: ours, curl followed by sha256sum, and
 * undici with a hashing Transform and createWriteStream. Ours and undici take turns in one warm process, like that of a
 * worker. Then a whole job runs in its own worker process to measure memory. Set `GIB` and `ROUNDS`.
 */
const { spawn, spawnSync } = require('node:child_process');
const { createHash } = require('node:crypto');
const { createWriteStream } = require('node:fs');
const { mkdtemp, rm } = require('node:fs/promises');
const { createServer } = require('node:http');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { Transform } = require('node:stream');
const { pipeline } = require('node:stream/promises');
const { runSection } = require('./support/section.cjs');
const { median } = require('./support/values.cjs');

const IS_QUICK = process.argv.includes('--quick');
const BYTES = Math.round(Number(process.env.GIB ?? (IS_QUICK ? 1 / 64 : 1)) * 1024 ** 3);
const ROUNDS = Number(process.env.ROUNDS ?? (IS_QUICK ? 1 : 3));
const MIB = 1024 ** 2;
/** The processes that this one starts measure with the same sizes. */
const SIZES = { ...process.env, GIB: String(BYTES / 1024 ** 3), ROUNDS: String(ROUNDS) };

async function measureAll() {
  const server = spawn(process.execPath, [__filename, 'serve'], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: SIZES,
  });
  const port = await new Promise((resolve) => server.stdout.once('data', (text) => resolve(Number(text))));
  const url = `http://127.0.0.1:${port}`;
  try {
    const curls = [];
    for (let round = 0; round < ROUNDS; round++)
      curls.push(await inFolder((folder) => curl(`${url}/video`, folder)));
    const runs = { curl: curls, ...(await inFolder((folder) => inProcess('compare', url, folder))) };
    const hashes = new Set(Object.values(runs).flatMap((some) => some.map(({ sha256 }) => sha256)));
    if (hashes.size !== 1) throw new Error('The downloads differ: they have different SHA-256 sums.');
    const { rssMib } = await inFolder((folder) => inProcess('worker', url, folder));
    return sectionOf(runs, (rssMib * MIB) / 1e6);
  } finally {
    server.kill();
  }
}

const NAMES = {
  curl: 'curl, then sha256sum',
  transform: 'undici and a hashing Transform',
  ours: 'ours: SHA-256, inspection, fsync',
};

function sectionOf(runs, workerMb) {
  const rates = Object.fromEntries(
    Object.entries(runs).map(([name, some]) => [
      name,
      BYTES / 1e6 / median(some.map(({ seconds }) => seconds)),
    ]),
  );
  return {
    section: 'e',
    title: `Download of ${(BYTES / 1e9).toFixed(2)} GB from loopback`,
    ratioOf: 'MB/s to undici',
    better: 'more',
    rows: Object.entries(NAMES).map(([name, title]) => ({
      name: title,
      ours: name === 'ours',
      values: { rateMbPerSecond: rates[name], ...(name === 'ours' && { workerMb }) },
      ratio: rates[name] / rates.transform,
    })),
    notes: [
      `Medians of ${ROUNDS}. Worker: how much more memory a worker held at most during the download than when idle.`,
    ],
  };
}

async function inFolder(work) {
  const folder = await mkdtemp(join(tmpdir(), 'videogen-bench-'));
  // Pending writes to the disk must not slow this run.
  spawnSync('sync');
  try {
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}

const print = (line) => process.stdout.write(`${line}\n`);

/** The service and its storage in one. The video is a small one with a large box of noise. */
async function serve() {
  const { noiseVideo } = require('../dist/src/testing/video/make-video');
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

/** The boxes before the last one, and the last one, which is padding. */
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
  const startedAt = performance.now();
  const { status, error } = spawnSync('curl', ['--silent', '--fail', '--output', file, url]);
  if (status !== 0) throw new Error(`curl ended with ${status ?? error}`);
  const [sha256] = spawnSync('sha256sum', [file], { encoding: 'utf8' }).stdout.split(' ');
  return { seconds: (performance.now() - startedAt) / 1_000, sha256 };
}

function inProcess(name, baseUrl, folder) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [__filename, name, baseUrl, folder], {
    encoding: 'utf8',
    env: SIZES,
  });
  if (status !== 0) throw new Error(`${name} failed: ${stderr}`);
  return JSON.parse(stdout.trim().split('\n').at(-1));
}

/** The first round only warms up the JavaScript engine. */
async function compare(baseUrl) {
  const runs = { transform: [], ours: [] };
  const downloads = { transform, ours };
  for (let round = 0; round <= ROUNDS; round++) {
    for (const name of Object.keys(downloads)) {
      const run = await inFolder((folder) => measure(() => downloads[name](baseUrl, folder)));
      if (round > 0) runs[name].push(run);
    }
  }
  finish(runs);
}

async function measure(work) {
  const idle = process.memoryUsage.rss();
  let highest = idle;
  const watch = setInterval(() => {
    highest = Math.max(highest, process.memoryUsage.rss());
  }, 20);
  const startedAt = performance.now();
  const sha256 = await work();
  const seconds = (performance.now() - startedAt) / 1_000;
  clearInterval(watch);
  return { seconds, rssMib: (highest - idle) / MIB, sha256 };
}

function finish(measured) {
  print(JSON.stringify(measured));
  process.exit();
}

async function ours(baseUrl, folder) {
  const { MockActivityEnvironment } = require('@temporalio/testing');
  const { createFileStorage, createVideoActivities, createVideoService } = require('../dist/src/worker');
  const service = createVideoService({ baseUrl, apiKey: () => 'bench' });
  const { downloadVideo } = createVideoActivities({ service, storage: createFileStorage(folder) });
  const { video } = await new MockActivityEnvironment().run(downloadVideo, { taskId: 'bench' });
  await service.close();
  return video.sha256;
}

async function transform(baseUrl, folder) {
  const { request } = require('undici');
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
}

/** A whole job on a Temporal server, in the process of its worker. */
async function inWorker(baseUrl, folder) {
  const { createVideoTestEnvironment } = require('../dist/src/testing');
  const { createFileStorage, createVideoService } = require('../dist/src/worker');
  const env = await createVideoTestEnvironment({ server: 'dev' });
  const service = createVideoService({ baseUrl, apiKey: () => 'bench' });
  const worker = await env.createWorker({ service, storage: createFileStorage(folder) });
  const running = worker.run();
  // The memory that bundling the workflows took is not that of an idle worker.
  await new Promise((resolve) => setTimeout(resolve, 3_000));
  const measured = await measure(async () => (await env.videos.execute({ taskId: 'bench' })).video.sha256);
  worker.shutdown();
  await running;
  await env.teardown();
  finish(measured);
}

const PARTS = { serve, compare, worker: inWorker };
const [, , part, ...rest] = process.argv;

if (PARTS[part] === undefined) void runSection(measureAll);
else {
  PARTS[part](...rest).catch((error) => {
    process.stderr.write(`${error.stack}\n`);
    // What it has begun would keep it alive.
    process.exit(1);
  });
}
