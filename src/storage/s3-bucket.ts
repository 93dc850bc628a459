import { Readable } from 'node:stream';
import type {
  GetObjectCommand,
  ListMultipartUploadsCommandOutput,
  MultipartUpload,
  PutObjectCommandInput,
  S3Client,
} from '@aws-sdk/client-s3';
import type { Upload } from '@aws-sdk/lib-storage';
import { errorCode } from '../contract/error-code';
import { NO_SECRETS, redact, type Secrets } from '../contract/redact';
import type { FileUnderKey } from './same-video';
import type { ByteRange, LinkValidity, ListedFile, S3Connection, S3Credentials } from './storage';
import { StorageFault } from './storage-fault';

// The SDK waits forever by default. A healthy server accepts a connection within a second.
const CONNECT_TIMEOUT_MS = 10_000;
// Longer than any pause of a healthy server: S3 may take a minute or more to complete a large upload.
const SILENCE_TIMEOUT_MS = 5 * 60_000;

/** With retries. A later put could replace a newer object. */
const SMALL_PUT_MS = 60_000;

// Two parts at a time keep the connection busy; 10,000 parts of this size, the limit of S3, are 78 GiB.
const PART_BYTES = 8 * 1024 * 1024;
const PARTS_IN_FLIGHT = 2;

const PRECONDITION_FAILED = 412;

/** Loaded on first use, with only types imported above: file storage works without the AWS SDK. */
type S3Sdk = typeof import('@aws-sdk/client-s3') & typeof import('@aws-sdk/lib-storage');

const NOT_FOUND: unknown[] = ['MODULE_NOT_FOUND', 'ERR_MODULE_NOT_FOUND'];

/** The AWS SDK, which the user installs. */
async function loadS3Sdk(): Promise<S3Sdk> {
  try {
    return { ...(await import('@aws-sdk/client-s3')), ...(await import('@aws-sdk/lib-storage')) };
  } catch (error) {
    if (!NOT_FOUND.includes(errorCode(error))) throw error;
    const fix = 'run `npm install @aws-sdk/client-s3 @aws-sdk/lib-storage`';
    throw new StorageFault(`the AWS SDK, which stores videos in S3, is not installed: ${fix}`, {
      cause: error,
    });
  }
}

/** The S3 calls of a storage, for one bucket. */
export class S3Bucket {
  private constructor(
    private readonly sdk: S3Sdk,
    private readonly client: S3Client,
    private readonly name: string,
  ) {}

  static async open(name: string, connection: S3Connection): Promise<S3Bucket> {
    const { endpoint, region, pathStyle, credentials } = connection;
    const sdk = await loadS3Sdk();
    const client = new sdk.S3Client({
      ...(endpoint !== undefined && { endpoint }),
      ...(region !== undefined && { region }),
      ...(pathStyle !== undefined && { forcePathStyle: pathStyle }),
      ...(credentials !== undefined && { credentials }),
      requestHandler: { connectionTimeout: CONNECT_TIMEOUT_MS, socketTimeout: SILENCE_TIMEOUT_MS },
    });
    redactErrors(client);
    return new S3Bucket(sdk, client, name);
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
      const part = { ...upload, PartNumber: 1, Body: content };
      const { ETag } = await this.client.send(new this.sdk.UploadPartCommand(part));
      const MultipartUpload = { Parts: [{ ETag, PartNumber: 1 }] };
      const complete = { ...upload, MultipartUpload, IfNoneMatch: '*' };
      return await this.succeedsIfFree(() =>
        this.client.send(new this.sdk.CompleteMultipartUploadCommand(complete)),
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
      const { S3ServiceException } = this.sdk;
      const isTaken =
        error instanceof S3ServiceException && error.$metadata.httpStatusCode === PRECONDITION_FAILED;
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

  async get(key: string, range?: ByteRange): Promise<FileUnderKey | undefined> {
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

  /** Uploads a body; fails if the key is taken. */
  upload(key: string, contentType: string, body: Readable): Upload {
    return new this.sdk.Upload({
      client: this.client,
      params: { Bucket: this.name, Key: key, Body: body, ContentType: contentType, IfNoneMatch: '*' },
      partSize: PART_BYTES,
      queueSize: PARTS_IN_FLIGHT,
    });
  }

  /** Aborts unfinished uploads; returns how many. */
  async abortUploads(prefix: string, isLeft: (upload: MultipartUpload) => boolean): Promise<number> {
    const left = (await this.unfinishedUploads(prefix)).filter(isLeft);
    for (const { Key, UploadId } of left) await this.abortUpload(Key, UploadId);
    return left.length;
  }

  /** Lists all pages before any upload is aborted, because the next page begins after the last upload of this one. */
  private async unfinishedUploads(prefix: string): Promise<MultipartUpload[]> {
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
    const upload = { Bucket: this.name, Key: key, UploadId: uploadId };
    try {
      await this.client.send(new this.sdk.AbortMultipartUploadCommand(upload));
    } catch (error) {
      if (!(error instanceof this.sdk.NoSuchUpload)) throw error;
    }
  }
}

/** Removes the credentials from every error of a client: some servers quote what the request was signed with. */
function redactErrors(client: S3Client): void {
  client.middlewareStack.add(
    (next) => async (call) => {
      try {
        return await next(call);
      } catch (error) {
        const secrets = await client.config.credentials().then(secretsIn, () => NO_SECRETS);
        throw redactError(error, secrets);
      }
    },
    // Around the retries.
    { step: 'initialize', name: 'redactErrors', priority: 'high' },
  );
}

/** A shorter key is a word, such as `test`: it is only hidden as a whole. */
const MIN_KEY_LENGTH = 8;

function secretsIn({ accessKeyId, secretAccessKey, sessionToken = '' }: S3Credentials): Secrets {
  const given = [secretAccessKey, sessionToken];
  return {
    keys: given.filter((key) => key.length >= MIN_KEY_LENGTH),
    // A piece of an id gives no access.
    wholeValues: [accessKeyId, ...given],
  };
}

/** Changes the error in place, because callers check its class. */
function redactError(error: unknown, secrets: Secrets): unknown {
  if (typeof error !== 'object' || error === null) return error;
  for (const part of ['message', 'name']) {
    const text: unknown = Reflect.get(error, part);
    if (typeof text === 'string') Reflect.set(error, part, redact(text, secrets));
  }
  return error;
}

type Signer = Awaited<ReturnType<S3Client['config']['signer']>>;
type Signable = Parameters<Signer['sign']>[0];

interface Presigner {
  presign(request: Signable, options: { signingDate: Date; expiresIn: number }): Promise<Signable>;
}

/**
 * A link to an object, signed by the client's own signer for the address that the client would call. AWS's package for
 * links does the same, and would be a third one for users to install.
 */
async function presignGet(
  client: S3Client,
  command: GetObjectCommand,
  { from, seconds }: LinkValidity,
): Promise<string> {
  let link: string | undefined;
  command.middlewareStack.add(
    (_next, { authSchemes }) =>
      async ({ request }) => {
        const signer = await client.config.signer(authSchemes?.[0]);
        if (!isSignable(request) || !isPresigner(signer))
          throw new StorageFault('the AWS SDK makes no links');
        const { host = '' } = request.headers;
        // Other headers would have to be sent by who follows the link.
        request.headers = { host, 'x-amz-content-sha256': 'UNSIGNED-PAYLOAD' };
        request.query = {};
        link = hrefOf(await signer.presign(request, { signingDate: from, expiresIn: seconds }));
        // Nothing is sent.
        return { response: undefined, output: { $metadata: {} } };
      },
    { step: 'build', priority: 'low', name: 'presign' },
  );
  await client.send(command);
  if (link === undefined) throw new StorageFault('the AWS SDK made no link');
  return link;
}

function hrefOf({ protocol, hostname, port, path, query = {} }: Signable): string {
  const search = Object.entries(query)
    .map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(String(value))}`)
    .join('&');
  return `${protocol}//${hostname}${port === undefined ? '' : `:${port}`}${path}?${search}`;
}

function isSignable(request: unknown): request is Signable {
  return typeof request === 'object' && request !== null && 'headers' in request && 'hostname' in request;
}

function isPresigner(signer: Signer): signer is Signer & Presigner {
  return 'presign' in signer && typeof signer.presign === 'function';
}
