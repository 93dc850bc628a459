import type { GetObjectCommand, S3Client } from '@aws-sdk/client-s3';
import type { LinkValidity } from './storage';
import { StorageFault } from './storage-fault';

type Signer = Awaited<ReturnType<S3Client['config']['signer']>>;
type Signable = Parameters<Signer['sign']>[0];

interface Presigner {
  presign(request: Signable, options: { signingDate: Date; expiresIn: number }): Promise<Signable>;
}

/**
 * A link to an object, signed by the client's own signer for the address that the client would call. AWS's package for
 * links does the same, and would be a third one for users to install.
 */
export async function presignGet(
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
