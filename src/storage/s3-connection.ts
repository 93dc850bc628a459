/** How to reach S3 or something like it; what is left out is up to the AWS SDK and its environment. */
export interface S3Connection {
  endpoint?: string | undefined;
  region?: string | undefined;
  /** True for servers that expect the bucket in the path instead of the host name. */
  pathStyle?: boolean | undefined;
  credentials?: S3Credentials | undefined;
}

export interface S3Credentials {
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string;
}
