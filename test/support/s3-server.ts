import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { readEngineOptions } from '../../src/config';
import { buildOnce } from '../../src/engine/build-once';
import { endWithParent } from '../../src/engine/end-with-parent';
import { executableName, requireOnSearchPath } from '../../src/engine/executable-file';
import { answers, freePort, LOOPBACK } from '../../src/engine/loopback-port';
import { OutputTail } from '../../src/engine/output-tail';
import { runTool } from '../../src/engine/run-tool';

/** For `beforeAll`: two cores needed two minutes with nothing downloaded or compiled before. */
export const S3_SERVER_TIMEOUT_MS = 15 * 60_000;

const LOOK_AGAIN_MS = 50;
const RECIPE = join(__dirname, 's3-server');
const PROGRAM = 'github.com/versity/versitygw/cmd/versitygw';

export interface S3Server {
  readonly bucket: string;
  readonly connection: {
    endpoint: string;
    region: string;
    pathStyle: boolean;
    credentials: { accessKeyId: string; secretAccessKey: string };
  };
  /** For what a test does behind the storage's back. */
  readonly client: S3Client;
  stop(): Promise<void>;
}

/** A real S3 server with an empty bucket. */
export async function startS3Server(): Promise<S3Server> {
  const executable = await findS3Server();
  const folder = await mkdtemp(join(tmpdir(), 'videogen-s3-'));
  for (const name of ['objects', 'metadata']) await mkdir(join(folder, name));
  const port = await freePort();
  const credentials = { accessKeyId: 'tester', secretAccessKey: 'not-a-secret' };
  const child = spawn(
    executable,
    // Not every file system of temporary files has the attributes that metadata would be kept in.
    ['--quiet', '--port', `${LOOPBACK}:${port}`]
      .concat('posix', '--sidecar', join(folder, 'metadata'))
      .concat(join(folder, 'objects')),
    {
      env: { ROOT_ACCESS_KEY: credentials.accessKeyId, ROOT_SECRET_KEY: credentials.secretAccessKey },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  endWithParent(child);
  await untilItAnswers(child, port);
  const connection = {
    endpoint: `http://${LOOPBACK}:${port}`,
    region: 'us-east-1',
    pathStyle: true,
    credentials,
  };
  const client = new S3Client({ ...connection, forcePathStyle: true });
  const bucket = 'videos';
  await client.send(new CreateBucketCommand({ Bucket: bucket }));
  return {
    bucket,
    connection,
    client,
    async stop() {
      client.destroy();
      child.kill('SIGKILL');
      if (child.exitCode === null && child.signalCode === null) await once(child, 'close');
      await rm(folder, { recursive: true });
    },
  };
}

async function untilItAnswers(child: ChildProcess, port: number): Promise<void> {
  const output = new OutputTail();
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk: Buffer) => output.add(chunk));
  let failure: Error | undefined;
  child.once('error', (error) => {
    failure = error;
  });
  while (!(await answers(port))) {
    if (failure !== undefined) throw failure;
    if (child.exitCode !== null) throw new Error(`the S3 server ended with ${child.exitCode}: ${output}`);
    await sleep(LOOK_AGAIN_MS);
  }
}

/** The binary that VIDEOGEN_S3_SERVER names, or one that is built once and kept with Temporal's programs. */
async function findS3Server(env = process.env): Promise<string> {
  if (env.VIDEOGEN_S3_SERVER) return env.VIDEOGEN_S3_SERVER;
  const { cacheFolder, searchPath } = readEngineOptions(env);
  const version = /versity\/versitygw v(\S+)/.exec(await readFile(join(RECIPE, 'go.mod'), 'utf8'))?.[1];
  const file = executableName('versitygw');
  const name = `versitygw-${version}-${process.platform}-${process.arch}`;
  const built = await buildOnce(cacheFolder, name, async (folder) => {
    const go = await requireOnSearchPath('go', searchPath);
    const module = join(folder, 'module');
    await mkdir(module);
    for (const recipe of ['go.mod', 'go.sum']) await copyFile(join(RECIPE, recipe), join(module, recipe));
    await runTool(go, ['build', '-mod=readonly', '-ldflags=-s -w', '-o', join(folder, file), PROGRAM], {
      cwd: module,
      searchPath,
      // A go.work above the cache folder would leave our module out.
      env: { GOWORK: 'off' },
      timeoutMs: S3_SERVER_TIMEOUT_MS,
    });
    await rm(module, { recursive: true });
  });
  return join(built, file);
}
