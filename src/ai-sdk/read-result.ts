import { cleanText, hasControls } from '../contract/clean-text';
import { isTaskId } from '../contract/input-rules';
import { isTainted, redact, type Secrets } from '../contract/redact';
import { isObject } from '../service/answer-paths';
import { ServiceFault } from '../service/service-fault';
import type { JsonValue } from './video-model-types';

/** More would fill the result of a job. */
const MOST_WARNINGS = 20;

/**
 * What a model needs to ask for its task, as the id of the task: the operation itself, so that notes, records and people can use
 * it like any other task id. The task exists: whatever is wrong here is a lost submit.
 */
export function taskIdOf(operation: unknown, secrets: Secrets): string {
  const text = typeof operation === 'string' ? quoted(operation) : asJson(operation);
  if (text === undefined) throw unreadable('the model gave no operation to ask for its task with');
  if (isTainted(text, secrets)) throw unreadable('the operation of the model contains a key');
  if (!isTaskId(text)) {
    throw unreadable(
      `the operation of the model has ${Buffer.byteLength(text)} bytes, too many for a task id: reach the service by a profile instead`,
    );
  }
  return text;
}

const unreadable = (message: string) => new ServiceFault('unreadable', { message });

/** Texts that would be read as JSON are quoted. So are those with characters that a task id cannot have. */
function quoted(text: string): string | undefined {
  if (text === '') return undefined;
  const needsQuotes =
    LOOKS_LIKE_JSON.test(text) || text.trim() === '' || hasControls(text) || /\p{Cs}/u.test(text);
  return needsQuotes ? JSON.stringify(text) : text;
}

const LOOKS_LIKE_JSON = /^[{["]/;

/** undefined for what JSON cannot say, such as NaN, and for nothing. A number comes back as text, with all its digits. */
function asJson(operation: unknown): string | undefined {
  try {
    const json = JSON.stringify(operation);
    return json === 'null' ? undefined : json;
  } catch {
    return undefined;
  }
}

/** The operation of a task id. People write ids by hand when they adopt a task, so what is not JSON is text. */
export function operationOf(taskId: string): JsonValue {
  if (!LOOKS_LIKE_JSON.test(taskId)) return taskId;
  try {
    return JSON.parse(taskId);
  } catch {
    return taskId;
  }
}

/** What a model warns of, a sentence each without a full stop, as warnings of a job are. */
export function readWarnings(result: unknown, secrets: Secrets): string[] {
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
  | { status: 'pending' }
  | { status: 'completed'; video: ReadVideo; count: number }
  | { status: 'error'; error: string }
  | { status: 'unreadable'; word: string };

/** Where a finished video is, or why it is out of reach; nothing for a task without a video. */
export interface ReadVideo {
  videoUrl?: string;
  videoBytes?: Uint8Array;
  problem?: string;
}

export function readStatus(result: unknown): ReadStatus {
  const { status, error, videos }: Record<string, unknown> = Object(result);
  switch (status) {
    case 'pending':
      return { status };
    case 'completed': {
      // Only one was asked for, so the first is the video.
      const list: unknown[] = Array.isArray(videos) ? videos : [];
      return { status, video: readVideo(list[0]), count: list.length };
    }
    case 'error':
      return { status, error: textOr(error, 'the model does not say why') };
    default:
      return { status: 'unreadable', word: String(status) };
  }
}

function readVideo(video: unknown): ReadVideo {
  if (!isObject(video)) return {};
  const { type, url, data } = video;
  if (type === 'uploaded') {
    return { problem: 'the model has uploaded the video elsewhere and names neither a link nor its bytes' };
  }
  if (typeof url === 'string') return readLink(url.trim());
  if (typeof data === 'string') return asBytes(Buffer.from(data, 'base64'));
  return data instanceof Uint8Array || ArrayBuffer.isView(data)
    ? asBytes(new Uint8Array(data.buffer, data.byteOffset, data.byteLength))
    : {};
}

const DATA_URL_START = /^data:[^,]{0,200};base64,/i;

/** The message repeats only the scheme of a link: the rest may be signed. */
function readLink(url: string): ReadVideo {
  const [start] = DATA_URL_START.exec(url) ?? [];
  if (start !== undefined) return asBytes(Buffer.from(url.slice(start.length), 'base64'));
  if (/^https?:\/\//i.test(url) && URL.canParse(url)) return { videoUrl: url };
  if (url === '') return {};
  const [scheme] = /^[a-z][a-z0-9+.-]{0,19}:/i.exec(url) ?? [];
  const why = scheme
    ? `begins with ${scheme}, from which nothing can be downloaded`
    : 'has no address, so nothing can be downloaded';
  return { problem: `the link to the video ${why}` };
}

const asBytes = (bytes: Uint8Array): ReadVideo => (bytes.length === 0 ? {} : { videoBytes: bytes });
