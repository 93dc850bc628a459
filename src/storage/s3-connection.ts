// Apart from s3-client.ts: a user's compiler reads these types, and must not meet those of an SDK that is not installed.

/** How to reach S3 or a compatible server. The AWS SDK and its environment decide what is left out. */
export interface S3Connection {
  endpoint?: string | undefined;
  region?: string | undefined;
  /** True for servers that expect the bucket in the path instead of the host name. */
  pathStyle?: boolean | undefined;
  credentials?: S3Credentials | undefined;
}

/** Fixed credentials for S3. Without them the AWS SDK finds its own. */
export interface S3Credentials {
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string;
}
