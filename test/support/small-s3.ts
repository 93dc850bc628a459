import { createHash, createHmac, randomUUID, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { freePort, LOOPBACK } from '../../src/temporal-server/loopback-port';

interface StoredObject {
  body: Buffer;
  contentType: string;
  modified: Date;
}

interface Call {
  method: string;
  bucket: string;
  key: string;
  query: URLSearchParams;
  headers: IncomingMessage['headers'];
  body: Buffer;
}

interface Answer {
  status?: number;
  headers?: Record<string, string | number>;
  body?: string | Buffer;
}

class S3Refusal extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
  ) {
    super(code);
  }
}

/**
 * An S3 server in this process, as far as our storage and its tests use S3: signatures, conditional writes, uploads in parts, ranges,
 * lists. At night the same tests have versitygw instead.
 */
export async function startSmallS3(
  secretAccessKey: string,
): Promise<{ port: number; stop(): Promise<void> }> {
  const buckets = new Buckets();
  const server = createServer(async (request, response) => {
    const body = await buffer(request).catch(() => undefined);
    // Its caller is gone.
    if (body === undefined) return;
    const { status = 200, headers, body: answered = '' } = answer(buckets, request, body, secretAccessKey);
    response.writeHead(status, { 'content-type': 'application/xml', ...headers });
    response.end(request.method === 'HEAD' ? undefined : answered);
  });
  const port = await freePort();
  server.listen(port, LOOPBACK);
  await once(server, 'listening');
  return {
    port,
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

function answer(buckets: Buckets, request: IncomingMessage, body: Buffer, secret: string): Answer {
  try {
    checkSignature(request, secret);
    const { method = '', headers } = request;
    const [path = '', search = ''] = (request.url ?? '').split('?');
    const [bucket = '', ...key] = path.slice(1).split('/').map(decodeURIComponent);
    const query = new URLSearchParams(search);
    return buckets.answer({
      method,
      bucket,
      key: key.join('/'),
      query,
      headers,
      body: withoutChunks(request, body),
    });
  } catch (error) {
    const { status, code } = error instanceof S3Refusal ? error : { status: 500, code: 'InternalError' };
    return { status, body: `<Error><Code>${code}</Code><Message>${error}</Message></Error>` };
  }
}

class Buckets {
  private readonly objects = new Map<string, Map<string, StoredObject>>();
  private readonly uploads = new Map<string, Upload>();

  answer(call: Call): Answer {
    const { method, bucket, key, query } = call;
    if (method === 'PUT' && key === '') return this.createBucket(bucket);
    const objects = this.objects.get(bucket);
    if (objects === undefined) throw new S3Refusal(404, 'NoSuchBucket');
    if (method === 'GET' && key === '') {
      return query.has('uploads') ? this.listUploads(call) : listObjects(objects, query);
    }
    if (method === 'POST' && query.has('uploads')) return this.beginUpload(call);
    if (query.has('uploadId')) return this.goOnWithUpload(call, objects);
    if (method === 'PUT') return put(objects, call, call.body, call.headers['content-type']);
    if (method === 'DELETE') {
      objects.delete(key);
      return { status: 204 };
    }
    return read(objects.get(key), call.headers.range);
  }

  private createBucket(name: string): Answer {
    this.objects.set(name, new Map());
    return {};
  }

  private beginUpload({ bucket, key, headers }: Call): Answer {
    const id = randomUUID();
    this.uploads.set(id, { bucket, key, contentType: headers['content-type'], parts: new Map() });
    return {
      body: `<InitiateMultipartUploadResult><Bucket>${bucket}</Bucket><Key>${escaped(key)}</Key><UploadId>${id}</UploadId></InitiateMultipartUploadResult>`,
    };
  }

  private goOnWithUpload(call: Call, objects: Map<string, StoredObject>): Answer {
    const { method, query, key, body } = call;
    const id = query.get('uploadId') ?? '';
    const upload = this.uploads.get(id);
    if (upload === undefined || upload.key !== key) throw new S3Refusal(404, 'NoSuchUpload');
    if (method === 'PUT') {
      upload.parts.set(Number(query.get('partNumber')), body);
      return { headers: { etag: etagOf(body) } };
    }
    if (method === 'POST') {
      const numbers = [...String(body).matchAll(/<PartNumber>(\d+)<\/PartNumber>/g)].map(([, number]) =>
        Number(number),
      );
      const parts = numbers.map((number) => upload.parts.get(number));
      if (parts.includes(undefined)) throw new S3Refusal(400, 'InvalidPart');
      const whole = Buffer.concat(parts.flatMap((part) => part ?? []));
      const { headers: { etag } = { etag: '' } } = put(objects, call, whole, upload.contentType);
      this.uploads.delete(id);
      return {
        body: `<CompleteMultipartUploadResult><Key>${escaped(key)}</Key><ETag>${etag}</ETag></CompleteMultipartUploadResult>`,
      };
    }
    this.uploads.delete(id);
    return { status: 204 };
  }

  private listUploads({ bucket, query }: Call): Answer {
    const prefix = query.get('prefix') ?? '';
    const uploads = [...this.uploads].filter(
      ([, upload]) => upload.bucket === bucket && upload.key.startsWith(prefix),
    );
    const listed = uploads.map(
      ([id, { key }]) => `<Upload><Key>${escaped(key)}</Key><UploadId>${id}</UploadId></Upload>`,
    );
    return { body: `<ListMultipartUploadsResult>${listed.join('')}</ListMultipartUploadsResult>` };
  }
}

interface Upload {
  bucket: string;
  key: string;
  contentType: string | undefined;
  parts: Map<number, Buffer>;
}

function put(
  objects: Map<string, StoredObject>,
  { key, headers }: Call,
  body: Buffer,
  contentType = 'application/octet-stream',
): Answer {
  if (headers['if-none-match'] === '*' && objects.has(key)) throw new S3Refusal(412, 'PreconditionFailed');
  objects.set(key, { body, contentType, modified: new Date() });
  return { headers: { etag: etagOf(body) } };
}

function read(object: StoredObject | undefined, range: string | undefined): Answer {
  if (object === undefined) throw new S3Refusal(404, 'NoSuchKey');
  const { body, contentType, modified } = object;
  const headers = {
    'content-type': contentType,
    'last-modified': modified.toUTCString(),
    etag: etagOf(body),
  };
  const [, first, last] = /^bytes=(\d+)-(\d*)$/.exec(range ?? '') ?? [];
  if (first === undefined) return { headers: { ...headers, 'content-length': body.length }, body };
  const start = Number(first);
  if (start >= body.length) throw new S3Refusal(416, 'InvalidRange');
  const part = body.subarray(start, last ? Number(last) + 1 : undefined);
  const contentRange = `bytes ${start}-${start + part.length - 1}/${body.length}`;
  return {
    status: 206,
    headers: { ...headers, 'content-length': part.length, 'content-range': contentRange },
    body: part,
  };
}

function listObjects(objects: Map<string, StoredObject>, query: URLSearchParams): Answer {
  const prefix = query.get('prefix') ?? '';
  const listed = [...objects]
    .filter(([key]) => key.startsWith(prefix))
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(
      ([key, { body, modified }]) =>
        `<Contents><Key>${escaped(key)}</Key><LastModified>${modified.toISOString()}</LastModified><Size>${body.length}</Size></Contents>`,
    );
  return {
    body: `<ListBucketResult><IsTruncated>false</IsTruncated>${listed.join('')}</ListBucketResult>`,
  };
}

/** What the SDK sends with a checksum at its end comes as `size in hex; …`, a line break, these bytes, a line break, until size 0. */
function withoutChunks({ headers }: IncomingMessage, body: Buffer): Buffer {
  if (!String(headers['x-amz-content-sha256']).startsWith('STREAMING-')) return body;
  const parts: Buffer[] = [];
  for (let at = 0; ; ) {
    const lineEnd = body.indexOf('\r\n', at);
    const size = Number.parseInt(body.toString('latin1', at, lineEnd), 16);
    if (!(size > 0)) return Buffer.concat(parts);
    parts.push(body.subarray(lineEnd + 2, lineEnd + 2 + size));
    at = lineEnd + 2 + size + 2;
  }
}

/** AWS Signature Version 4, in a header or in a link. */
function checkSignature({ method, url = '', headers }: IncomingMessage, secret: string): void {
  const [path, search = ''] = url.split('?');
  const query = new URLSearchParams(search);
  const inHeader = /Credential=([^,]+), ?SignedHeaders=([^,]+), ?Signature=(\w+)/.exec(
    headers.authorization ?? '',
  );
  const [, credential, signed, signature] = inHeader ?? [
    '',
    query.get('X-Amz-Credential'),
    query.get('X-Amz-SignedHeaders'),
    query.get('X-Amz-Signature'),
  ];
  if (!credential || !signed || !signature) throw new S3Refusal(403, 'AccessDenied');
  const date = inHeader ? String(headers['x-amz-date']) : (query.get('X-Amz-Date') ?? '');
  const scope = credential.split('/').slice(1);
  const parameters = search
    .split('&')
    .filter((one) => one !== '' && !one.startsWith('X-Amz-Signature='))
    .map((one) => (one.includes('=') ? one : `${one}=`));
  const canonical = [
    method,
    path,
    parameters.sort().join('&'),
    ...signed.split(';').map((name) => `${name}:${String(headers[name]).trim().replace(/ +/g, ' ')}`),
    '',
    signed,
    inHeader ? headers['x-amz-content-sha256'] : 'UNSIGNED-PAYLOAD',
  ].join('\n');
  const digest = createHash('sha256').update(canonical).digest('hex');
  const keyOf = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text).digest();
  const key = scope.reduce<string | Buffer>(keyOf, `AWS4${secret}`);
  const expected = keyOf(key, ['AWS4-HMAC-SHA256', date, scope.join('/'), digest].join('\n'));
  const given = Buffer.from(signature, 'hex');
  if (given.length !== expected.length || !timingSafeEqual(given, expected))
    throw new S3Refusal(403, 'SignatureDoesNotMatch');
}

const etagOf = (body: Buffer) => `"${createHash('md5').update(body).digest('hex')}"`;

const escaped = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
