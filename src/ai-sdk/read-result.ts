import { cleanText } from '../contract/clean-text';
import { redact, type Secrets } from '../contract/redact';
import { isObject } from '../service/answer-paths';
import type { RetryHeaders } from '../service/read-values';
import { headersOf } from './sdk-errors';
import { unescapeBytes } from './unescape-bytes';

/** More would fill the result of a job. */
const MOST_WARNINGS = 20;

/** What `doStart` says. */
export interface ReadStart {
  operation: unknown;
  warnings: string[];
}

export function readStart(result: unknown, secrets: Secrets): ReadStart {
  const operation: unknown = Reflect.get(Object(result), 'operation');
  return { operation, warnings: readWarnings(result, secrets) };
}

/** What a model warns of, a sentence each without a full stop, as warnings of a job are. */
export function readWarnings(result: unknown, secrets: Secrets): string[] {
  try {
    return describeWarnings(result, secrets);
  } catch {
    // What they are read from is the code of others, and the task beside them is paid for.
    return ['the warnings of the model cannot be read'];
  }
}

function describeWarnings(result: unknown, secrets: Secrets): string[] {
  const { warnings }: { warnings?: unknown } = Object(result);
  if (!Array.isArray(warnings)) return [];
  return warnings
    .slice(0, MOST_WARNINGS)
    .map((warning) => redact(describeWarning(warning), secrets).replace(/\.$/, ''))
    .filter((warning) => warning !== '');
}

function describeWarning(warning: unknown): string {
  const { type, feature, setting, details, message }: Record<string, unknown> = Object(warning);
  const about = textOr(feature, textOr(setting, ''));
  const words = textOr(details, textOr(message, ''));
  switch (type) {
    case 'unsupported':
      return `the model does not support ${about || 'a part of the request'}${words && `: ${words}`}`;
    case 'compatibility':
      return `the model only imitates ${about || 'a part of the request'}${words && `: ${words}`}`;
    case 'deprecated':
      return `the model calls ${about || 'an option'} deprecated${words && `: ${words}`}`;
    default:
      return words && `the model warns: ${words}`;
  }
}

const textOr = (value: unknown, otherwise: string): string =>
  typeof value === 'string' && value.trim() !== '' ? cleanText(value) : otherwise;

/** What `doStatus` says. */
export type ReadStatus =
  | { status: 'pending'; headers: RetryHeaders }
  | { status: 'completed'; video: ReadVideo; count: number }
  | { status: 'error'; error: string }
  | { status: 'unreadable'; word: string };

/** Where a finished video is. */
export type ReadVideo =
  | { kind: 'link'; url: string }
  | { kind: 'bytes'; bytes: Uint8Array }
  | { kind: 'elsewhere'; why: string }
  | { kind: 'none' };

export function readStatus(result: unknown): ReadStatus {
  const { status, error, response }: Record<string, unknown> = Object(result);
  switch (status) {
    case 'pending':
      return { status, headers: headersOf(Reflect.get(Object(response), 'headers')) };
    case 'completed':
      return readCompleted(result);
    case 'error':
      return {
        status,
        error: typeof error === 'string' && error !== '' ? error : 'the model does not say why',
      };
    default:
      return { status: 'unreadable', word: String(status) };
  }
}

/** The first video of a finished task: only one was asked for. */
export function readCompleted(result: unknown): Extract<ReadStatus, { status: 'completed' }> {
  const { videos }: { videos?: unknown } = Object(result);
  const list: unknown[] = Array.isArray(videos) ? videos : [];
  return { status: 'completed', video: readVideo(list[0]), count: list.length };
}

function readVideo(video: unknown): ReadVideo {
  if (!isObject(video)) return { kind: 'none' };
  const { type, url, data } = video;
  if (type === 'uploaded') {
    return {
      kind: 'elsewhere',
      why: 'the model has uploaded the video elsewhere and names neither a link nor its bytes',
    };
  }
  if (typeof url === 'string') return readLink(url.trim());
  if (typeof data === 'string') return asBytes(Buffer.from(data, 'base64'));
  return data instanceof Uint8Array || ArrayBuffer.isView(data)
    ? asBytes(new Uint8Array(data.buffer, data.byteOffset, data.byteLength))
    : { kind: 'none' };
}

/** Nothing else of a link is repeated: the rest may be signed. */
const SCHEME = /^[a-z][a-z0-9+.-]{0,19}:/i;
const DATA_URL_START = /^data:[^,]{0,200},/i;

function readLink(url: string): ReadVideo {
  const [start] = DATA_URL_START.exec(url) ?? [];
  if (start !== undefined) {
    const data = url.slice(start.length);
    if (!/;base64,$/i.test(start)) return asBytes(unescapeBytes(data));
    return asBytes(Buffer.from(data.includes('%') ? unescapeBytes(data).toString('latin1') : data, 'base64'));
  }
  if (/^https?:\/\//i.test(url) && URL.canParse(url)) return { kind: 'link', url };
  if (url === '') return { kind: 'none' };
  const [scheme] = SCHEME.exec(url) ?? [];
  const why = scheme
    ? `begins with ${scheme}, from which nothing can be downloaded`
    : 'has no address, so nothing can be downloaded';
  return { kind: 'elsewhere', why: `the link to the video ${why}` };
}

function asBytes(bytes: Uint8Array): ReadVideo {
  return bytes.length === 0 ? { kind: 'none' } : { kind: 'bytes', bytes };
}
