import { pathToFileURL } from 'node:url';
import { readDownloadOptions, readS3Connection, readStorageConfig } from '../../src/config/storage-config';
import { refusal } from './refusal';

const FIX =
  'give a folder, an absolute file:// URL such as file:///srv/videos, or s3://bucket/prefix, or unset it for ./videos.';

describe('VIDEOGEN_STORAGE', () => {
  it.each([
    [undefined, './videos'],
    ['out', 'out'],
    ['../out', '../out'],
    [' /srv/videos\n', '/srv/videos'],
    ['/srv/a: b', '/srv/a: b'],
    [pathToFileURL('/srv/my videos').href, '/srv/my videos'],
    ['FILE:///srv/videos', '/srv/videos'],
    ['C:\\videos', 'C:\\videos'],
  ])('%j is the folder %j', (VIDEOGEN_STORAGE, folder) => {
    expect(readStorageConfig({ VIDEOGEN_STORAGE })).toEqual({ kind: 'file', folder });
  });

  it.each([
    ['s3://videos', 'videos', ''],
    ['s3://videos/', 'videos', ''],
    ['S3://videos/2026/foxes', 'videos', '2026/foxes'],
    ['s3://videos/foxes/', 'videos', 'foxes'],
  ])('%j is the bucket %j with the prefix %j', (VIDEOGEN_STORAGE, bucket, prefix) => {
    expect(readStorageConfig({ VIDEOGEN_STORAGE })).toMatchObject({ kind: 's3', bucket, prefix });
  });

  it.each([
    ['', `is empty: ${FIX}`],
    [' ', `is empty: ${FIX}`],
    ['https://user:sk-very-secret@host/videos', `starts with https://, which is not supported: ${FIX}`],
    ['file:videos', `starts with file:, which is not supported: ${FIX}`],
    ['file://server/videos', `is a file: URL that names no folder of this machine: ${FIX}`],
    ['file:///srv%2Fvideos', `is a file: URL that names no folder of this machine: ${FIX}`],
    ['s3://', `does not name a bucket: ${FIX}`],
    ['s3://a b/c', `does not name a bucket: ${FIX}`],
    ['s3://videos/../c', `does not name a bucket: ${FIX}`],
  ])('%j is refused: it %s', (VIDEOGEN_STORAGE, problem) => {
    expect(refusal(() => readStorageConfig({ VIDEOGEN_STORAGE }))).toBe(`VIDEOGEN_STORAGE ${problem}`);
  });

  it('in S3 uses the connection of the environment, and leaves the rest to the AWS SDK', () => {
    const bucket = { VIDEOGEN_STORAGE: 's3://videos' };
    expect(
      readStorageConfig({
        ...bucket,
        AWS_ENDPOINT_URL: 'http://other',
        AWS_ENDPOINT_URL_S3: 'http://minio:9000',
        AWS_DEFAULT_REGION: 'eu-central-1',
        AWS_ACCESS_KEY_ID: 'id',
        AWS_SECRET_ACCESS_KEY: 'secret',
        AWS_SESSION_TOKEN: 'token',
        VIDEOGEN_S3_PATH_STYLE: 'true',
      }),
    ).toMatchObject({
      endpoint: 'http://minio:9000',
      region: 'eu-central-1',
      pathStyle: true,
      credentials: { accessKeyId: 'id', secretAccessKey: 'secret', sessionToken: 'token' },
    });
    const nothing = readStorageConfig({ ...bucket, AWS_ACCESS_KEY_ID: 'id', AWS_REGION: ' ' });
    expect(Object.values(nothing).filter((value) => value !== undefined)).toEqual(['s3', 'videos', '']);
  });
});

describe.each(['AWS_ENDPOINT_URL_S3', 'AWS_ENDPOINT_URL'])('%s', (variable) => {
  it.each(['minio:9000', 'ftp://minio', 'nonsense', 'https://id:sk-very-secret@minio'])(
    'may not be %j, which is not quoted',
    (address) => {
      expect(refusal(() => readS3Connection({ [variable]: address }))).toBe(
        `${variable} is not an http(s) URL without a user: set it to the address of the S3 server, such as https://s3.example.com, or unset it.`,
      );
    },
  );

  it('is not read when videos go to a folder', () => {
    const env = { VIDEOGEN_STORAGE: './videos', [variable]: 'nonsense' };
    expect(readStorageConfig(env)).toEqual({ kind: 'file', folder: './videos' });
  });
});

describe('VIDEOGEN_KEY_TEMPLATE', () => {
  it.each([undefined, '{date}/{workflowId}.{ext}', 'all/{taskId}', 'one.mp4'])('may be %j', (template) => {
    expect(readDownloadOptions({ VIDEOGEN_KEY_TEMPLATE: template }).keyTemplate).toBe(template);
  });

  it.each(['/abs/{ext}', '../{ext}', 'a/', '{workflowid}', '{}', 'a\\b'])('may not be %j', (template) => {
    expect(refusal(() => readDownloadOptions({ VIDEOGEN_KEY_TEMPLATE: template }))).toContain(
      `VIDEOGEN_KEY_TEMPLATE is ${JSON.stringify(template)}: give a key`,
    );
  });
});

describe('VIDEOGEN_LARGEST_VIDEO', () => {
  it.each([
    [undefined, undefined],
    ['1000', 1_000],
    ['500MB', 500_000_000],
    ['2GiB', 2_147_483_648],
    ['1.5 gib', 1_610_612_736],
    ['64KiB', 65_536],
    ['3kb', 3_000],
  ])('%j is %j bytes', (given, bytes) => {
    expect(readDownloadOptions({ VIDEOGEN_LARGEST_VIDEO: given }).largestVideoBytes).toBe(bytes);
  });

  it.each(['0', '-1', 'many', '2G', '2 TiB', '1e9'])('%j is refused', (given) => {
    expect(refusal(() => readDownloadOptions({ VIDEOGEN_LARGEST_VIDEO: given }))).toContain('such as 500MB');
  });
});

describe('VIDEOGEN_S3_PATH_STYLE', () => {
  const read = (value: string) =>
    readStorageConfig({ VIDEOGEN_STORAGE: 's3://videos', VIDEOGEN_S3_PATH_STYLE: value });

  it.each([
    ['true', true],
    [' 1 ', true],
    ['FALSE', false],
    ['0', false],
    [' ', undefined],
  ])('may be %j', (value, pathStyle) => {
    expect(read(value)).toMatchObject({ pathStyle });
  });

  it('may be nothing else', () => {
    expect(refusal(() => read('yes'))).toBe(
      'VIDEOGEN_S3_PATH_STYLE is "yes", neither true nor false: correct or unset it.',
    );
  });
});
