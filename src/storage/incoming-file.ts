import { type FileHandle, open, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { finished } from 'node:stream/promises';
import { pathToFileURL } from 'node:url';
import { errorCode } from '../contract/error-code';
import { FileSink } from './file-sink';
import { inFolder, makeFolder, syncFolder } from './folders';
import { moveIfFree, newPartName, noteLeftPart, partMark, partsIn, sidecarMark } from './part-files';
import { incomplete, isSameVideo, keyTaken } from './same-video';
import type { IncomingVideo, PublishedVideo, ReceiveOptions, WholeVideo } from './storage';
import { asStorageFault } from './storage-fault';

/** A key and the path of its file. */
export interface FileTarget {
  key: string;
  path: string;
}

/** Opens a part in the folder of a video, under a name that marks its owner. */
export function receiveFile(
  target: FileTarget,
  { owner, isRetry = false }: Pick<ReceiveOptions, 'owner' | 'isRetry'>,
  pathOf: (key: string) => string,
): Promise<IncomingVideo> {
  return asStorageFault(async () => {
    const folder = dirname(target.path);
    const mark = partMark(target.key, owner);
    const name = newPartName(mark);
    return inFolder(folder, async () => {
      // Listed before our part exists: an attempt that Temporal took for dead must not remove its successor's part.
      const earlier = await partsIn(folder, [mark, sidecarMark(target.key)], { isFresh: isRetry });
      const file = await open(join(folder, name), 'wx');
      return new IncomingFile(target, { name, folder, earlier, file }, pathOf);
    });
  });
}

interface OwnPart {
  name: string;
  folder: string;
  earlier: string[];
  file: FileHandle;
}

class IncomingFile implements IncomingVideo {
  readonly sink: FileSink;
  readonly part: { name: string; leave(): Promise<void> };
  private readonly partPath: string;
  /** The part has its final name. */
  private isMoved = false;

  constructor(
    private readonly target: FileTarget,
    private readonly own: OwnPart,
    private readonly pathOf: (key: string) => string,
  ) {
    this.partPath = join(own.folder, own.name);
    this.part = { name: own.name, leave: () => this.leave() };
    this.sink = new FileSink(own.file);
    // An error without a listener would end the process.
    this.sink.on('error', () => undefined);
  }

  publish(whole: WholeVideo): Promise<PublishedVideo> {
    return this.endWith(async () => {
      this.sink.end();
      await finished(this.sink);
      if (this.sink.bytesWritten !== whole.bytes) throw incomplete(this.sink.bytesWritten, whole);
      // A power cut can keep the new name and lose the bytes.
      await this.own.file.sync();
      await this.moveUnlessStored(whole);
      return { ...uriOf(this.target.path), ...(!this.isMoved && { wasThere: true }) };
    });
  }

  discard(): Promise<void> {
    this.sink.destroy();
    return this.endWith(async () => undefined);
  }

  setAside(key: string): Promise<{ uri: string }> {
    return this.endWith(async () => {
      const path = this.pathOf(key);
      await this.flush();
      await this.own.file.sync();
      await makeFolder(dirname(path));
      await rename(this.partPath, path);
      this.isMoved = true;
      await syncFolder(dirname(path));
      return uriOf(path);
    });
  }

  /** Removes the parts of earlier attempts: this part has their bytes, or they were useless. */
  private async leave(): Promise<void> {
    await asStorageFault(() => this.close());
    noteLeftPart(this.own.folder);
    await this.remove(this.own.earlier);
  }

  private async moveUnlessStored(whole: WholeVideo): Promise<void> {
    const { key, path } = this.target;
    try {
      await moveIfFree(this.partPath, path);
      this.isMoved = true;
    } catch (error) {
      // ENOENT: a later attempt was faster, and removed our part.
      if (errorCode(error) !== 'EEXIST' && errorCode(error) !== 'ENOENT') throw error;
      const found = await stat(path).catch(() => undefined);
      if (found === undefined) throw error;
      if (!found.isFile()) throw keyTaken(key);
      const content = (await open(path)).createReadStream();
      if (!(await isSameVideo({ bytes: found.size, content }, whole))) throw keyTaken(key);
      // The attempt that stored it may have been killed before it did so.
      await syncFolder(dirname(path));
    }
  }

  /** Whatever happens, no part of this attempt or of earlier ones stays. */
  private async endWith<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await asStorageFault(work);
    } finally {
      await this.close().catch(() => undefined);
      await this.remove(this.isMoved ? this.own.earlier : [this.own.name, ...this.own.earlier]);
    }
  }

  private async remove(names: string[]): Promise<void> {
    for (const name of names) {
      // The sweeper removes what cannot be removed now.
      await rm(join(this.own.folder, name)).catch(() => undefined);
    }
  }

  private async close(): Promise<void> {
    await this.flush();
    await this.own.file.close();
  }

  /** Writes what the sink has buffered, unless it has failed. */
  private async flush(): Promise<void> {
    if (this.sink.destroyed) return;
    this.sink.end();
    await finished(this.sink).catch(() => undefined);
  }
}

function uriOf(path: string): { uri: string } {
  return { uri: pathToFileURL(path).href };
}
