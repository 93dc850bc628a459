import { Readable } from 'node:stream';
import type {
  ListMultipartUploadsCommandOutput,
  MultipartUpload,
  PutObjectCommandInput,
  S3Client,
} from '@aws-sdk/client-s3';
import type { Upload } from '@aws-sdk/lib-storage';
import { createS3Client, loadS3Sdk, type S3Sdk } from './s3-client';
import type { S3Connection } from './s3-connection';
import { presignGet } from './s3-presign';
import type { StoredFile } from './same-video';
import type { ByteRange, LinkValidity, ListedFile } from './storage';

/** With retries. A later put could replace a newer object. */
const SMALL_PUT_MS = 60_000;

const PRECONDITION_FAILED = 412;

// Two parts at a time keep the connection busy; 10,000 parts of this size, the limit of S3, are 78 GiB.
const PART_BYTES = 8 * 1024 * 1024;
const PARTS_IN_FLIGHT = 2;

export interface ObjectToUpload {
  key: string;
  contentType: string;
  body: Readable;
  /** Whether it may replace an existing object. */
  mayReplace: boolean;
}

/** The S3 calls of a storage, for one bucket. */
export class S3Bucket {
  private constructor(
    private readonly sdk: S3Sdk,
    private readonly client: S3Client,
    readonly name: string,
  ) {}

  static async open(name: string, connection: S3Connection): Promise<S3Bucket> {
    const sdk = await loadS3Sdk();
    return new S3Bucket(sdk, createS3Client(sdk, connection), name);
  }

  /** Puts a small object. */
  async put(object: Omit<PutObjectCommandInput, 'Bucket'>, signal?: AbortSignal): Promise<void> {
    const command = new this.sdk.PutObjectCommand({ ...object, Bucket: this.name });
    const limit = AbortSignal.timeout(SMALL_PUT_MS);
    const abortSignal = signal === undefined ? limit : AbortSignal.any([limit, signal]);
    await this.client.send(command, { abortSignal });
  }

  /** Returns false if the server says that the key is taken. */
  async putIfFree(key: string, content: string, signal?: AbortSignal): Promise<boolean> {
    const object = { Key: key, Body: content, ContentType: 'application/json', IfNoneMatch: '*' };
    return this.succeedsIfFree(() => this.put(object, signal));
  }

  /** The same by a multipart upload, whose completion has the condition. */
  async uploadIfFree(key: string, content: string): Promise<boolean> {
    const object = { Bucket: this.name, Key: key };
    const { UploadId } = await this.client.send(new this.sdk.CreateMultipartUploadCommand(object));
    const upload = { ...object, UploadId };
    try {
      const { ETag } = await this.client.send(
        new this.sdk.UploadPartCommand({ ...upload, PartNumber: 1, Body: content }),
      );
      const MultipartUpload = { Parts: [{ ETag, PartNumber: 1 }] };
      return await this.succeedsIfFree(() =>
        this.client.send(
          new this.sdk.CompleteMultipartUploadCommand({ ...upload, MultipartUpload, IfNoneMatch: '*' }),
        ),
      );
    } finally {
      await this.abortUpload(key, UploadId).catch(() => undefined);
    }
  }

  private async succeedsIfFree(conditional: () => Promise<unknown>): Promise<boolean> {
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
    const command = new this.sdk.DeleteObjectCommand({ Bucket: this.name, Key: key });
    try {
      // Later it could remove a newer object.
      await this.client.send(command, { abortSignal: AbortSignal.timeout(SMALL_PUT_MS) });
    } catch (error) {
      // Amazon's server says nothing about an object that is gone. Others do, to the second of two that remove it.
      if (!(error instanceof this.sdk.S3ServiceException && error.name === 'NoSuchKey')) throw error;
    }
  }

  /** The keys after one, in the order of their bytes: a page of at most a thousand. */
  async list(prefix: string, after?: string): Promise<{ files: ListedFile[]; isTruncated: boolean }> {
    const { Contents = [], IsTruncated = false } = await this.client.send(
      new this.sdk.ListObjectsV2Command({ Bucket: this.name, Prefix: prefix, StartAfter: after }),
    );
    const files = Contents.flatMap(({ Key: key, LastModified: storedAt = new Date(0) }) =>
      key ? [{ key, storedAt }] : [],
    );
    return { files, isTruncated: IsTruncated };
  }

  async get(key: string, range?: ByteRange): Promise<StoredFile | undefined> {
    try {
      const Range = range && `bytes=${range.start}-${range.end}`;
      const command = new this.sdk.GetObjectCommand({ Bucket: this.name, Key: key, Range });
      const found = await this.client.send(command);
      if (!(found.Body instanceof Readable)) throw new Error('S3 did not answer with a stream');
      return { bytes: found.ContentLength, content: found.Body };
    } catch (error) {
      if (error instanceof this.sdk.NoSuchKey) return undefined;
      throw error;
    }
  }

  /** A link with which anybody can read an object for a while. It is made here: S3 is not asked. */
  presign(key: string, validity: LinkValidity): Promise<string> {
    return presignGet(this.client, new this.sdk.GetObjectCommand({ Bucket: this.name, Key: key }), validity);
  }

  /** Uploads a body. Fails if the key is taken, unless `mayReplace`. */
  upload({ key, contentType, body, mayReplace }: ObjectToUpload): Upload {
    return new this.sdk.Upload({
      client: this.client,
      params: {
        Bucket: this.name,
        Key: key,
        Body: body,
        ContentType: contentType,
        ...(!mayReplace && { IfNoneMatch: '*' }),
      },
      partSize: PART_BYTES,
      queueSize: PARTS_IN_FLIGHT,
    });
  }

  /** Lists all pages before any upload is aborted, because the next page begins after the last upload of this one. */
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

  /** Does nothing if the upload no longer exists. */
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
