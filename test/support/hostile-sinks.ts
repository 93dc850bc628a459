import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ListMultipartUploadsCommand, ListObjectsV2Command } from '@aws-sdk/client-s3';
import { createFileStorage, createS3Storage, type VideoStorage } from '../../src/storage';
import { startS3Server } from './s3-server';
import { filesIn } from './stored-files';

export interface HostileSink {
  storage: VideoStorage;
  /** All files and pending uploads in a folder. */
  everythingIn(folder: string): Promise<string[]>;
  close(): Promise<void>;
}

export const SINKS = {
  async files(): Promise<HostileSink> {
    const root = await mkdtemp(join(tmpdir(), 'videogen-hostile-'));
    return {
      storage: createFileStorage(root),
      // A failed download may leave an empty folder, or none.
      everythingIn: (folder) => filesIn(join(root, folder)).catch(() => []),
      close: () => rm(root, { recursive: true, force: true }),
    };
  },
  async S3(): Promise<HostileSink> {
    const { bucket: Bucket, client, connection, stop } = await startS3Server();
    const prefix = 'videos';
    return {
      storage: createS3Storage({ bucket: Bucket, prefix, ...connection }),
      async everythingIn(folder) {
        const folderPrefix = { Bucket, Prefix: `${prefix}/${folder}/` };
        const { Contents = [] } = await client.send(new ListObjectsV2Command(folderPrefix));
        const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand(folderPrefix));
        const nameOf = ({ Key = '' }: { Key?: string }) => Key.slice(folderPrefix.Prefix.length);
        return [...Contents.map(nameOf), ...Uploads.map((upload) => `${nameOf(upload)} on its way`)];
      },
      close: stop,
    };
  },
} satisfies Record<string, () => Promise<HostileSink>>;
