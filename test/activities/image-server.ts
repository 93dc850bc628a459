import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { openLinkedImage, type VideoStorage } from '../../src/storage';

export interface ImageServer {
  url: string;
  close(): Promise<void>;
}

/** Serves the links of images to this machine, as a gateway does. */
export async function startImageServer(storage: VideoStorage): Promise<ImageServer> {
  const server = createServer(async ({ url = '/' }, response) => {
    const image = await openLinkedImage(storage, new URL(url, 'http://images')).catch(() => undefined);
    if (image === undefined) return response.writeHead(404).end();
    const { content, bytes, contentType } = image;
    const headers = { 'content-length': bytes, 'x-content-type-options': 'nosniff' };
    return content.pipe(response.writeHead(200, { 'content-type': contentType, ...headers }));
  });
  // It must not keep a command running that has ended.
  server.unref();
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
