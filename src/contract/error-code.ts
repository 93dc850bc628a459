import { cleanText } from './clean-text';

/** The code of an error, such as ENOENT. Not by `instanceof`: errors of Node may come from another realm. */
export function errorCode(error: unknown): unknown {
  return Reflect.get(Object(error), 'code');
}

/** The status codes of gRPC that Temporal's answers are told apart by. */
export const GRPC_STATUS = {
  invalidArgument: 3,
  deadlineExceeded: 4,
  notFound: 5,
  permissionDenied: 7,
  unimplemented: 12,
  unauthenticated: 16,
} as const;

/** The code of an error or of its cause: a system error code, or a gRPC status number. */
export function codeOf(error: unknown): unknown {
  return errorCode(error) ?? errorCode(Reflect.get(Object(error), 'cause'));
}

/** The first line of an error's message. */
export function firstLineOf(error: unknown): string {
  return cleanText(String(Reflect.get(Object(error), 'message') ?? error).split('\n')[0] ?? '');
}
