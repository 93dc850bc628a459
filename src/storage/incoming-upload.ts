import { Readable, Transform } from 'node:stream';
import type { Upload } from '@aws-sdk/lib-storage';
import type { S3Bucket } from './s3-bucket';
import { incomplete, isSameVideo, keyTaken } from './same-video';
import type { IncomingVideo, PublishedVideo, WholeVideo } from './storage';
import { StorageFault, storageFault } from './storage-fault';

export interface S3Target {
  /** The caller's name for the object. */
  key: string;
  /** The bucket's name for the object. */
  objectKey: string;
  uri: string;
}

export interface UploadOptions {
  contentType: string;
  /** Whether the server refuses to replace an object; if not, the key is checked before the upload is completed. */
  isConditional: boolean;
}

/** A video on its way into a bucket. Nothing of it is visible before its upload is completed. */
export class IncomingUpload implements IncomingVideo {
  readonly sink = new UploadSink();
  private readonly upload: Upload;
  private readonly done: Promise<unknown>;

  constructor(
    private readonly bucket: S3Bucket,
    private readonly target: S3Target,
    private readonly options: UploadOptions,
  ) {
    const { contentType, isConditional } = options;
    const body = Readable.from(bytesOf(this.sink), { objectMode: false });
    for (const stream of [this.sink, body]) stream.on('error', () => undefined);
    this.upload = bucket.upload({
      key: target.objectKey,
      contentType,
      body,
      mayReplace: !isConditional,
    });
    this.done = this.upload.done();
    this.done.catch((error: unknown) => this.sink.destroy(storageFault(error)));
  }

  async publish(whole: WholeVideo): Promise<PublishedVideo> {
    const { uri } = this.target;
    if (!this.options.isConditional && (await this.isStoredBefore(whole))) {
      await this.discard();
      return { uri, wasThere: true };
    }
    try {
      this.sink.endWith(whole);
      await this.done;
    } catch (error) {
      await this.removeUpload();
      if (error instanceof StorageFault || !(await this.isStoredAfter(whole))) throw storageFault(error);
      return { uri, wasThere: true };
    }
    return { uri };
  }

  async discard(): Promise<void> {
    // The library's abort() does not wait for parts in flight, and S3 stores parts that arrive after the abort.
    this.sink.destroy(new StorageFault('the upload was discarded'));
    await this.done.catch(() => undefined);
    await this.removeUpload();
  }

  /** On a server without conditions, two attempts that check at the same moment can both find the key free. */
  private async isStoredBefore(whole: WholeVideo): Promise<boolean> {
    try {
      const stored = await this.bucket.get(this.target.objectKey);
      if (stored === undefined) return false;
      if (await isSameVideo(stored, whole)) return true;
      throw keyTaken(this.target.key);
    } catch (error) {
      await this.discard();
      throw storageFault(error);
    }
  }

  /**
   * Called after every failure, not only when S3 says that the key is taken: a server may close the connection before its
   * refusal is read, and the answer to a completed upload may be lost.
   */
  private async isStoredAfter(whole: WholeVideo): Promise<boolean> {
    let isSame: boolean;
    try {
      const stored = await this.bucket.get(this.target.objectKey);
      if (stored === undefined) return false;
      isSame = await isSameVideo(stored, whole);
    } catch {
      return false;
    }
    if (!isSame) throw keyTaken(this.target.key);
    return true;
  }

  /** The library leaves an upload that could not be completed, or whose abort failed once. */
  private async removeUpload(): Promise<void> {
    const { uploadId } = this.upload;
    if (uploadId === undefined) return;
    // The sweeper removes what cannot be removed now.
    await this.bucket.abortUpload(this.target.objectKey, uploadId).catch(() => undefined);
  }
}

/** A failing upload destroys its body before it reports the error. The sink must stay, to pass the error to its writer. */
async function* bytesOf(sink: Readable): AsyncGenerator<Buffer> {
  for await (const chunk of sink.iterator({ destroyOnReturn: false })) yield chunk;
}

/** Lets an upload complete only when the whole video has passed. */
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
    else if (this.bytes !== this.whole.bytes) done(incomplete(this.bytes, this.whole));
    else done();
  }
}
