/** Ends every fix of a folder. */
export const ANOTHER_FOLDER = 'or set VIDEOGEN_STORAGE to another folder';
const A_FILE = `A file stands where a folder is to be: move it away, ${ANOTHER_FOLDER}.`;
const NOT_ALLOWED = `Let this user write there, ${ANOTHER_FOLDER}.`;

const BY_CODE: Record<string, string> = {
  ENOTDIR: A_FILE,
  EEXIST: A_FILE,
  EACCES: NOT_ALLOWED,
  EPERM: NOT_ALLOWED,
  EROFS: `The disk is read-only: mount it otherwise, ${ANOTHER_FOLDER}.`,
  ENOSPC: `The disk is full: make room, ${ANOTHER_FOLDER}.`,
  EDQUOT: `The quota is used up: make room, ${ANOTHER_FOLDER}.`,
};

/** By the code of the system. */
export function fixForFolder({ code }: { code?: string | undefined }): string {
  return BY_CODE[code ?? ''] ?? `Fix that folder, ${ANOTHER_FOLDER}.`;
}

const CREDENTIALS =
  'Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY to those of the account, or AWS_PROFILE to a profile.';
const ADDRESS =
  'Correct AWS_ENDPOINT_URL_S3 and AWS_REGION, or fix what is between this machine and the server.';
const BUCKET = 'Make the bucket, or correct its name in VIDEOGEN_STORAGE.';
const REGION = 'Set AWS_REGION to the region of the bucket.';
const SDK = 'Install it where videogen is installed, or set VIDEOGEN_STORAGE to a folder.';
const RIGHTS =
  'Allow these credentials to put and get objects of the bucket, and to list it (s3:ListBucket): S3 does not tell otherwise that an object is not there.';
const CONDITIONS =
  'Use a server that honours it, or set VIDEOGEN_S3_CONDITIONAL_PUTS=false: whether a key is free is then checked before each put.';
const ALL_OF_IT =
  'Check the bucket, AWS_REGION, AWS_ENDPOINT_URL_S3, VIDEOGEN_S3_PATH_STYLE and the credentials, which must allow to put and get objects.';

/** What is said of a server that lets a put replace what is there. */
export const IGNORES_IF_NONE_MATCH = 'the server ignores If-None-Match, so one video could replace another';

/** By what stands in the words: the name that S3 or its SDK gives an error, the code of the system, or ours. */
const BY_WORD: Record<string, string> = {
  NoSuchBucket: BUCKET,
  InvalidBucketName: BUCKET,
  PermanentRedirect: REGION,
  AuthorizationHeaderMalformed: REGION,
  'Region is missing': REGION,
  AccessDenied: RIGHTS,
  InvalidAccessKeyId: CREDENTIALS,
  SignatureDoesNotMatch: CREDENTIALS,
  ExpiredToken: CREDENTIALS,
  CredentialsProviderError: CREDENTIALS,
  ECONNREFUSED: ADDRESS,
  ECONNRESET: ADDRESS,
  ENOTFOUND: `${ADDRESS} A server that knows no host name for each bucket needs VIDEOGEN_S3_PATH_STYLE=true.`,
  EAI_AGAIN: ADDRESS,
  EPROTO: ADDRESS,
  TimeoutError: ADDRESS,
  'no answer': ADDRESS,
  'is not installed': SDK,
  // So do servers that know the header, and not what it asks for.
  NotImplemented: CONDITIONS,
  [IGNORES_IF_NONE_MATCH]: CONDITIONS,
};

export function fixForBucket(words: string): string {
  return Object.entries(BY_WORD).find(([word]) => words.includes(word))?.[1] ?? ALL_OF_IT;
}
