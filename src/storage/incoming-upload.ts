import { Readable, Transform } from 'node:stream';
import type { Upload } from '@aws-sdk/lib-storage';
import type { S3Bucket } from './s3-bucket';
import { isSameVideo, keyTaken, notWhole } from './same-video';
import { type IncomingVideo, StorageFault, type WholeVideo } from './storage';
import { storageFault } from './storage-fault';

export interface S3Place {
  /** What the caller calls it. */
  key: string;
  /** What the bucket calls it. */
  objectKey: string;
  uri: string;
}

export interface UploadOptions {
  contentType: string;
  /** Whether the server keeps what is there; otherwise it is asked before the upload is completed. */
  isConditional: boolean;
}

/** A video on its way into a bucket: nothing of it can be seen before its upload is completed. */
export class IncomingUpload implements IncomingVideo {
  readonly sink = new UploadSink();
  private readonly upload: Upload;
  private readonly done: Promise<unknown>;

  constructor(
    private readonly bucket: S3Bucket,
    private readonly place: S3Place,
    private readonly options: UploadOptions,
  ) {
    const { contentType, isConditional } = options;
    const body = Readable.from(bytesOf(this.sink), { objectMode: false });
    for (const stream of [this.sink, body]) stream.on('error', () => undefined);
    this.upload = bucket.upload({
      key: place.objectKey,
      contentType,
      body,
      replaces: !isConditional,
    });
    this.done = this.upload.done();
    this.done.catch((error: unknown) => this.sink.destroy(storageFault(error)));
  }

  async publish(whole: WholeVideo): Promise<{ uri: string }> {
    if (!this.options.isConditional && (await this.isThereBefore(whole))) {
      await this.discard();
      return { uri: this.place.uri };
    }
    try {
      this.sink.endWith(whole);
      await this.done;
    } catch (error) {
      await this.removeUpload();
      if (error instanceof StorageFault || !(await this.isThere(whole))) throw storageFault(error);
    }
    return { uri: this.place.uri };
  }

  async discard(): Promise<void> {
    // Its own abort() would not wait for parts in flight, which S3 keeps when they arrive after the abort.
    this.sink.destroy(new StorageFault('the upload was discarded'));
    await this.done.catch(() => undefined);
    await this.removeUpload();
  }

  /** Two that look at the same moment can both find nothing there: the price of a server without conditions. */
  private async isThereBefore(whole: WholeVideo): Promise<boolean> {
    try {
      const stored = await this.bucket.get(this.place.objectKey);
      if (stored === undefined) return false;
      if (await isSameVideo(stored, whole)) return true;
      throw keyTaken(this.place.key);
    } catch (error) {
      await this.discard();
      throw storageFault(error);
    }
  }

  /**
   * Asked after every failure, not only when S3 says that the key is taken: a server may close the line before its
   * refusal is read, and the answer to an upload that was completed may be lost.
   */
  private async isThere(whole: WholeVideo): Promise<boolean> {
    let isSame: boolean;
    try {
      const stored = await this.bucket.get(this.place.objectKey);
      if (stored === undefined) return false;
      isSame = await isSameVideo(stored, whole);
    } catch {
      return false;
    }
    if (!isSame) throw keyTaken(this.place.key);
    return true;
  }

  /** The library leaves an upload behind that could not be completed, or whose abort failed once. */
  private async removeUpload(): Promise<void> {
    const { uploadId } = this.upload;
    if (uploadId === undefined) return;
    // What cannot be removed now is left to the sweeper.
    await this.bucket.abortUpload(this.place.objectKey, uploadId).catch(() => undefined);
  }
}

/** An upload that fails destroys its body before it says why, but whoever writes to the sink is to hear why. */
async function* bytesOf(sink: Readable): AsyncGenerator<Buffer> {
  for await (const chunk of sink.iterator({ destroyOnReturn: false })) yield chunk;
}

/** Completes an upload only when all of the video went through. */
class UploadSink extends Transform {
  private bytes = 0;
  private whole: WholeVideo | undefined;

  endWith(whole: WholeVideo): void {
    this.whole = whole;
    this.end();
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: (error: null, data: Buffer) => void) {
    this.bytes += chunk.length;
    done(null, chunk);
  }

  override _flush(done: (error?: Error) => void): void {
    if (this.whole === undefined) done(new StorageFault('the video was ended without being published'));
    else if (this.bytes !== this.whole.bytes) done(notWhole(this.bytes, this.whole));
    else done();
  }
}
