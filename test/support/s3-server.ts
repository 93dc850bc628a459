import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { endWithParent, outputTail } from '../../src/temporal-server/child-process';
import { acceptsConnections, freePort, LOOPBACK } from '../../src/temporal-server/loopback-port';
import { buildGoTool, GO_TOOL_TIMEOUT_MS } from './go-tool';
import { atLength } from './nightly';
import { startSmallS3 } from './small-s3';

/** For `beforeAll`. */
export const S3_SERVER_TIMEOUT_MS = GO_TOOL_TIMEOUT_MS;

const CHECK_INTERVAL_MS = 50;
const VERSITYGW = {
  recipe: 's3-server',
  module: 'github.com/versity/versitygw',
  program: 'github.com/versity/versitygw/cmd/versitygw',
};

export type S3Server = Awaited<ReturnType<typeof startS3Server>>;

/** An S3 server with an empty bucket: one of ours, and at night versitygw, which Go builds. */
export async function startS3Server(secretAccessKey = 'not-a-secret') {
  const credentials = { accessKeyId: 'tester', secretAccessKey };
  const { port, stop } = await atLength(
    () => startSmallS3(secretAccessKey),
    () => startVersitygw(credentials),
  )();
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
    /** For direct access to the bucket. */
    client,
    async stop(): Promise<void> {
      client.destroy();
      await stop();
    },
  };
}

async function startVersitygw(credentials: { accessKeyId: string; secretAccessKey: string }) {
  const executable = await buildGoTool(VERSITYGW);
  const folder = await mkdtemp(join(tmpdir(), 'videogen-s3-'));
  for (const name of ['objects', 'metadata']) await mkdir(join(folder, name));
  const port = await freePort();
  const child = spawn(
    executable,
    // Not every temporary file system has extended attributes, where the server would store metadata.
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
  return {
    port,
    async stop() {
      child.kill('SIGKILL');
      if (child.exitCode === null && child.signalCode === null) await once(child, 'close');
      await rm(folder, { recursive: true });
    },
  };
}

async function untilItAnswers(child: ChildProcess, port: number): Promise<void> {
  const output = outputTail(child);
  let failure: Error | undefined;
  child.once('error', (error) => {
    failure = error;
  });
  while (!(await acceptsConnections(port))) {
    if (failure !== undefined) throw failure;
    if (child.exitCode !== null) throw new Error(`the S3 server ended with ${child.exitCode}: ${output()}`);
    await sleep(CHECK_INTERVAL_MS);
  }
}
