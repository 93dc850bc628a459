import { once } from 'node:events';
import { createServer } from 'node:http';
import { createS3Storage } from '../../src/storage';
import { freePort, LOOPBACK } from '../../src/temporal-server/loopback-port';

const upload = (key: string, id: string, initiated: string) =>
  `<Upload><Key>${key}</Key><UploadId>${id}</UploadId><Initiated>${initiated}</Initiated></Upload>`;
const page = (content: string) => `<ListMultipartUploadsResult>${content}</ListMultipartUploadsResult>`;

const OLD = '2020-01-01T00:00:00.000Z';
const PAGES: Record<string, string> = {
  '': page(
    `${upload('jobs/a', '1', OLD)}${upload('jobs/b', '2', OLD)}<IsTruncated>true</IsTruncated>` +
      '<NextKeyMarker>jobs/b</NextKeyMarker><NextUploadIdMarker>2</NextUploadIdMarker>',
  ),
  'jobs/b 2': page(
    `${upload('jobs/b', '3', OLD)}${upload('jobs/c', '4', new Date().toISOString())}<IsTruncated>false</IsTruncated>`,
  ),
};

// The S3 server of the other tests does not continue after a page that ends within a key.
it('old unfinished uploads are swept from all pages of the list, and new ones stay', async () => {
  const aborted: string[] = [];
  const server = createServer((request, answer) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://localhost');
    const markers = ['key-marker', 'upload-id-marker'].flatMap((name) => searchParams.get(name) ?? []);
    if (request.method === 'DELETE') {
      aborted.push(`${pathname} ${searchParams.get('uploadId')}`);
      answer.writeHead(204).end();
    } else answer.writeHead(200, { 'content-type': 'application/xml' }).end(PAGES[markers.join(' ')]);
  });
  const port = await freePort();
  server.listen(port, LOOPBACK);
  await once(server, 'listening');
  try {
    const storage = createS3Storage({
      bucket: 'videos',
      prefix: 'jobs',
      endpoint: `http://${LOOPBACK}:${port}`,
      region: 'us-east-1',
      pathStyle: true,
      credentials: { accessKeyId: 'tester', secretAccessKey: 'not-a-secret' },
    });
    expect(await storage.sweep?.(3_600_000)).toBe(3);
    expect(aborted).toEqual(['/videos/jobs/a 1', '/videos/jobs/b 2', '/videos/jobs/b 3']);
  } finally {
    server.closeAllConnections();
    server.close();
  }
});
