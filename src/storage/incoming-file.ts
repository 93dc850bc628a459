import { type FileHandle, mkdir, open, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { finished } from 'node:stream/promises';
import { pathToFileURL } from 'node:url';
import { errorCode } from '../contract/errors';
import { FileSink } from './file-sink';
import { newPartName, partMark, partsIn, sidecarMark } from './part-files';
import { placeOnce, syncFolder } from './place-once';
import { isSameVideo, keyTaken, notWhole } from './same-video';
import type { IncomingVideo, WholeVideo } from './storage';
import { asStorageFault } from './storage-fault';

/** Where a key's file is to be. */
export interface FilePlace {
  key: string;
  target: string;
}

/** Opens a file beside the place of a video, under a name that says whose it is. */
export function receiveFile(
  place: FilePlace,
  owner: string,
  targetOf: (key: string) => string,
): Promise<IncomingVideo> {
  return asStorageFault(async () => {
    const folder = dirname(place.target);
    await mkdir(folder, { recursive: true });
    const mark = partMark(place.key, owner);
    // Only what was there before us: an attempt that is given up for dead must not take its successor's file along.
    const earlier = await partsIn(folder, [mark, sidecarMark(place.key)]);
    const name = newPartName(mark);
    const file = await open(join(folder, name), 'wx');
    return new IncomingFile(place, { name, folder, earlier, file }, targetOf);
  });
}

interface Part {
  name: string;
  folder: string;
  earlier: string[];
  file: FileHandle;
}

class IncomingFile implements IncomingVideo {
  readonly sink: FileSink;
  readonly part: { name: string; leave(): Promise<void> };
  private readonly temporary: string;

  constructor(
    private readonly place: FilePlace,
    private readonly own: Part,
    private readonly targetOf: (key: string) => string,
  ) {
    this.temporary = join(own.folder, own.name);
    this.part = { name: own.name, leave: () => this.leave() };
    this.sink = new FileSink(own.file);
    // It may be broken off when nobody listens, and an error nobody listens to ends the process.
    this.sink.on('error', () => undefined);
  }

  publish(whole: WholeVideo): Promise<{ uri: string }> {
    return this.ending(async () => {
      this.sink.end();
      await finished(this.sink);
      if (this.sink.bytesWritten !== whole.bytes) throw notWhole(this.sink.bytesWritten, whole);
      // A name can survive a power cut that the bytes did not.
      await this.own.file.sync();
      await this.placeUnlessThere(whole);
      return uriOf(this.place.target);
    });
  }

  discard(): Promise<void> {
    this.sink.destroy();
    return this.ending(async () => undefined);
  }

  setAside(key: string): Promise<{ uri: string }> {
    return this.ending(async () => {
      const target = this.targetOf(key);
      await this.close();
      await mkdir(dirname(target), { recursive: true });
      await rename(this.temporary, target);
      await syncFolder(dirname(target));
      return uriOf(target);
    });
  }

  /** What earlier attempts left is in this part, or was of no use: a copy for each of them would fill the disk. */
  private async leave(): Promise<void> {
    await asStorageFault(() => this.close());
    await this.remove(this.own.earlier);
  }

  private async placeUnlessThere(whole: WholeVideo): Promise<void> {
    const { key, target } = this.place;
    try {
      await placeOnce(this.temporary, target);
    } catch (error) {
      // ENOENT: a later attempt was done first, and took our file along.
      if (errorCode(error) !== 'EEXIST' && errorCode(error) !== 'ENOENT') throw error;
      const there = await stat(target).catch(() => undefined);
      if (there === undefined) throw error;
      if (!there.isFile()) throw keyTaken(key);
      const content = (await open(target)).createReadStream();
      if (!(await isSameVideo({ bytes: there.size, content }, whole))) throw keyTaken(key);
    }
  }

  /** Whatever comes of it, nothing of this attempt or of those before it stays under a temporary name. */
  private async ending<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await asStorageFault(work);
    } finally {
      await this.close().catch(() => undefined);
      await this.remove([this.own.name, ...this.own.earlier]);
    }
  }

  private async remove(names: string[]): Promise<void> {
    for (const name of names) {
      // What cannot be removed now is left to the sweeper.
      await rm(join(this.own.folder, name), { force: true }).catch(() => undefined);
    }
  }

  /** Writes what the sink still holds, unless it is broken. */
  private async close(): Promise<void> {
    if (!this.sink.destroyed) {
      this.sink.end();
      await finished(this.sink).catch(() => undefined);
    }
    await this.own.file.close();
  }
}

function uriOf(target: string): { uri: string } {
  return { uri: pathToFileURL(target).href };
}
