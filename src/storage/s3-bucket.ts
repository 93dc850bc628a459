import { Readable } from 'node:stream';
import type {
  ListMultipartUploadsCommandOutput,
  MultipartUpload,
  PutObjectCommandInput,
  S3Client,
} from '@aws-sdk/client-s3';
import type { Upload } from '@aws-sdk/lib-storage';
import { hideCredentials } from './hide-credentials';
import { loadS3, type S3Sdk } from './load-s3';
import type { S3Connection } from './s3-connection';
import type { Stored } from './same-video';

// The SDK waits forever by default. A connection is made within a second or not at all.
const CONNECT_TIMEOUT_MS = 10_000;
// Silence that no answer of a healthy server needs; completing a large upload can take S3 a minute or more.
const SILENCE_TIMEOUT_MS = 5 * 60_000;

const SMALL_WRITE_MS = 60_000;

const PRECONDITION_FAILED = 412;

// Two in flight keep a line busy; 10,000 parts of this size, all that S3 takes, are 78 GiB.
const PART_BYTES = 8 * 1024 * 1024;
const PARTS_IN_FLIGHT = 2;

export interface UploadedObject {
  key: string;
  contentType: string;
  body: Readable;
  /** Whether it takes the place of what is there. */
  replaces: boolean;
}

/** The calls to one bucket that a storage is made of. */
export class S3Bucket {
  private constructor(
    private readonly sdk: S3Sdk,
    private readonly client: S3Client,
    readonly name: string,
  ) {}

  static async open(
    name: string,
    { endpoint, region, pathStyle, credentials }: S3Connection,
  ): Promise<S3Bucket> {
    const sdk = await loadS3();
    const client = new sdk.S3Client({
      ...(endpoint !== undefined && { endpoint }),
      ...(region !== undefined && { region }),
      ...(pathStyle !== undefined && { forcePathStyle: pathStyle }),
      ...(credentials !== undefined && { credentials }),
      requestHandler: { connectionTimeout: CONNECT_TIMEOUT_MS, socketTimeout: SILENCE_TIMEOUT_MS },
    });
    hideCredentials(client);
    return new S3Bucket(sdk, client, name);
  }

  /** Of something small, within a minute, retries included: a later one could replace what came after it. */
  async put(object: Omit<PutObjectCommandInput, 'Bucket'>): Promise<void> {
    const command = new this.sdk.PutObjectCommand({ ...object, Bucket: this.name });
    await this.client.send(command, { abortSignal: AbortSignal.timeout(SMALL_WRITE_MS) });
  }

  /** False when something is there already, and the server says so. */
  async putIfFree(key: string, content: string): Promise<boolean> {
    return this.isFree(() => this.put({ Key: key, Body: content, IfNoneMatch: '*' }));
  }

  /** The same by an upload in parts, whose completion has the condition. */
  async putInPartsIfFree(key: string, content: string): Promise<boolean> {
    const object = { Bucket: this.name, Key: key };
    const { UploadId } = await this.client.send(new this.sdk.CreateMultipartUploadCommand(object));
    const upload = { ...object, UploadId };
    try {
      const { ETag } = await this.client.send(
        new this.sdk.UploadPartCommand({ ...upload, PartNumber: 1, Body: content }),
      );
      const MultipartUpload = { Parts: [{ ETag, PartNumber: 1 }] };
      return await this.isFree(() =>
        this.client.send(
          new this.sdk.CompleteMultipartUploadCommand({ ...upload, MultipartUpload, IfNoneMatch: '*' }),
        ),
      );
    } finally {
      await this.abortUpload(key, UploadId).catch(() => undefined);
    }
  }

  private async isFree(conditional: () => Promise<unknown>): Promise<boolean> {
    try {
      await conditional();
      return true;
    } catch (error) {
      const isTaken =
        error instanceof this.sdk.S3ServiceException &&
        error.$metadata.httpStatusCode === PRECONDITION_FAILED;
      if (!isTaken) throw error;
      return false;
    }
  }

  async remove(key: string): Promise<void> {
    await this.client.send(new this.sdk.DeleteObjectCommand({ Bucket: this.name, Key: key }));
  }

  async get(key: string): Promise<Stored | undefined> {
    try {
      const found = await this.client.send(new this.sdk.GetObjectCommand({ Bucket: this.name, Key: key }));
      if (!(found.Body instanceof Readable)) throw new Error('S3 answered with something that is no stream');
      return { bytes: found.ContentLength ?? 0, content: found.Body };
    } catch (error) {
      if (error instanceof this.sdk.NoSuchKey) return undefined;
      throw error;
    }
  }

  /** An upload that puts its body under a key, if nothing is there unless `replaces`. */
  upload({ key, contentType, body, replaces }: UploadedObject): Upload {
    return new this.sdk.Upload({
      client: this.client,
      params: {
        Bucket: this.name,
        Key: key,
        Body: body,
        ContentType: contentType,
        ...(!replaces && { IfNoneMatch: '*' }),
      },
      partSize: PART_BYTES,
      queueSize: PARTS_IN_FLIGHT,
    });
  }

  /** All of them before any is aborted: the next page begins at an upload, which had better still be there. */
  async unfinishedUploads(prefix: string): Promise<MultipartUpload[]> {
    const uploads: MultipartUpload[] = [];
    let page: ListMultipartUploadsCommandOutput | undefined;
    do {
      page = await this.client.send(
        new this.sdk.ListMultipartUploadsCommand({
          Bucket: this.name,
          Prefix: prefix,
          KeyMarker: page?.NextKeyMarker,
          UploadIdMarker: page?.NextUploadIdMarker,
        }),
      );
      uploads.push(...(page.Uploads ?? []));
    } while (page.IsTruncated);
    return uploads;
  }

  /** An upload that is gone already is as good as aborted. */
  async abortUpload(key: string | undefined, uploadId: string | undefined): Promise<void> {
    try {
      await this.client.send(
        new this.sdk.AbortMultipartUploadCommand({ Bucket: this.name, Key: key, UploadId: uploadId }),
      );
    } catch (error) {
      if (!(error instanceof this.sdk.NoSuchUpload)) throw error;
    }
  }
}
