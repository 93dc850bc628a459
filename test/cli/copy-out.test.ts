import { execFileSync } from 'node:child_process';
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { PutObjectCommand } from '@aws-sdk/client-s3';
import { CopyFailed, checkOut, copyOut } from '../../src/cli/copy-out';
import { exitCodeOf } from '../../src/cli/exit-codes';
import { S3_SERVER_TIMEOUT_MS, type S3Server, startS3Server } from '../support/s3-server';
import { failureOf } from '../support/world';
import { eventually } from '../temporal-server/eventually';

const BYTES = Buffer.alloc(3_000_000, 'fox');

let server: S3Server;
let env: Record<string, string>;
beforeAll(async () => {
  server = await startS3Server();
  const { endpoint, region, credentials } = server.connection;
  env = {
    AWS_ENDPOINT_URL_S3: endpoint,
    AWS_REGION: region,
    AWS_ACCESS_KEY_ID: credentials.accessKeyId,
    AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
    VIDEOGEN_S3_PATH_STYLE: 'true',
  };
}, S3_SERVER_TIMEOUT_MS);
afterAll(() => server?.stop());

let folder: string;
let uri: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'videogen-copy-'));
  writeFileSync(join(folder, 'a fox.mp4'), BYTES);
  uri = pathToFileURL(join(folder, 'a fox.mp4')).href;
});
afterEach(() => rmSync(folder, { recursive: true }));

const files = () => readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort();

test('without --out the result is the path of the stored video', async () => {
  expect(await copyOut(uri, undefined)).toBe(join(folder, 'a fox.mp4'));
  expect(await copyOut('s3://bucket/fox.mp4', undefined)).toBe('s3://bucket/fox.mp4');
});

test('a copy is complete, replaces an older file, its folders are created, and no temporary file remains', async () => {
  const target = join(folder, 'new/folders/fox.mp4');
  expect(await copyOut(uri, relative(process.cwd(), target))).toBe(target);
  writeFileSync(target, 'old');
  expect(await copyOut(uri, target)).toBe(target);
  expect(readFileSync(target).equals(BYTES)).toBe(true);
  expect(files()).toEqual(['a fox.mp4', 'new', 'new/folders', 'new/folders/fox.mp4']);
});

test('a video in S3 is copied with the configured connection', async () => {
  const Key = 'foxes/a red fox #1.mp4';
  await server.client.send(new PutObjectCommand({ Bucket: server.bucket, Key, Body: BYTES }));
  const target = join(folder, 'fox.mp4');
  expect(await copyOut(`s3://${server.bucket}/${Key}`, target, env)).toBe(target);
  expect(readFileSync(target).equals(BYTES)).toBe(true);
});

const inFolder = () => join(folder, 'a fox.mp4');
const inBucket = () => `s3://${server.bucket}/gone.mp4`;

test.each<[string, () => string, string, Record<string, string>, () => void]>([
  ['ENOTDIR:', inFolder, 'file/fox.mp4', {}, () => writeFileSync(join(folder, 'file'), '')],
  ['ENOENT:', inFolder, 'fox.mp4', {}, () => rmSync(join(folder, 'a fox.mp4'))],
  ['it no longer exists', inBucket, 'fox.mp4', {}, () => undefined],
  ['SignatureDoesNotMatch: ', inBucket, 'fox.mp4', { AWS_SECRET_ACCESS_KEY: 'another' }, () => undefined],
  ['VIDEOGEN_S3_PATH_STYLE is', inBucket, 'fox.mp4', { VIDEOGEN_S3_PATH_STYLE: 'maybe' }, () => undefined],
])(
  'a failed copy (%s) says in one sentence where the video is, and leaves no partial file',
  async (problem, place, out, settings, prepare) => {
    const stored = place();
    const target = join(folder, out);
    prepare();
    const before = files();
    const source = stored === inFolder() ? uri : stored;
    const failure = await failureOf(copyOut(source, target, { ...env, ...settings }));
    expect(failure).toBeInstanceOf(CopyFailed);
    expect(exitCodeOf(failure)).toBe(15);
    expect(String(failure)).toContain(
      `The video is at ${stored}, but could not be copied to ${target}: ${problem}`,
    );
    expect(files()).toEqual(before);
  },
);

test('when the folder cannot be created, the video file is closed', async () => {
  const openFiles = () => readdirSync('/dev/fd').length;
  writeFileSync(join(folder, 'file'), '');
  const before = openFiles();
  for (let attempt = 0; attempt < 5; attempt += 1) {
    await failureOf(copyOut(uri, join(folder, 'file/fox.mp4')));
  }
  await eventually('all closed', () => openFiles() <= before);
});

test.each<[string, (target: string) => unknown]>([
  ['a folder', (target) => mkdirSync(target)],
  ['a FIFO', (target) => execFileSync('mkfifo', [target])],
  ['a link to a file', (target) => symlinkSync(join(folder, 'a fox.mp4'), target)],
  ['a link to nothing', (target) => symlinkSync(join(folder, 'nothing'), target)],
])('%s is never replaced, and is refused before anything is generated', async (_what, make) => {
  const target = join(folder, 'taken');
  make(target);
  const before = lstatSync(target).ino;
  for (const refusal of [await failureOf(copyOut(uri, target)), await failureOf(checkOut(target))]) {
    expect(refusal).toBeInstanceOf(CopyFailed);
    expect(String(refusal)).toContain(`${target} exists and is not a regular file`);
  }
  expect(lstatSync(target).ino).toBe(before);
  expect(files()).toEqual(['a fox.mp4', 'taken']);
});

test('a link with a predictable temporary name is not followed', async () => {
  const victim = join(folder, 'victim');
  writeFileSync(victim, 'precious');
  symlinkSync(victim, join(folder, `fox.mp4.${process.pid}.part`));
  await copyOut(uri, join(folder, 'fox.mp4'));
  expect(readFileSync(victim, 'utf8')).toBe('precious');
  expect(lstatSync(join(folder, 'fox.mp4')).isFile()).toBe(true);
});
