import type { Container } from '../contract/job';

/** How a video of each container is labelled and named. */
export const CONTAINERS: Record<Container, { contentType: string; extension: string }> = {
  mp4: { contentType: 'video/mp4', extension: 'mp4' },
  mov: { contentType: 'video/quicktime', extension: 'mov' },
  webm: { contentType: 'video/webm', extension: 'webm' },
  mkv: { contentType: 'video/x-matroska', extension: 'mkv' },
};

/** More than it takes to recognize any container, and what every server sends at once. */
export const HEAD_TO_SNIFF = 4096;

const BRANDED = new Set(['ftyp', 'styp']);

const EBML_MAGIC = Buffer.from('1a45dfa3', 'hex');
const DOC_TYPE_ID = Buffer.from('4282', 'hex');
/** An EBML header has some 40 bytes; a type after that would be chance. */
const EBML_HEADER_BYTES = 128;

/** The container of a file, by its first bytes. */
export function sniffContainer(head: Buffer): Container | undefined {
  return sniffBoxes(head) ?? sniffElements(head);
}

function sniffBoxes(head: Buffer): Container | undefined {
  if (!BRANDED.has(head.toString('latin1', 4, 8))) return undefined;
  return head.toString('latin1', 8, 12) === 'qt  ' ? 'mov' : 'mp4';
}

function sniffElements(head: Buffer): Container | undefined {
  if (!head.subarray(0, EBML_MAGIC.length).equals(EBML_MAGIC)) return undefined;
  const header = head.subarray(0, EBML_HEADER_BYTES);
  const at = header.indexOf(DOC_TYPE_ID);
  // The type is shorter than 127 bytes, so its length is one byte with the highest bit set.
  const type = at < 0 ? '' : header.toString('latin1', at + 3, at + 3 + ((header[at + 2] ?? 0) & 0x7f));
  if (type === 'webm') return 'webm';
  return type === 'matroska' ? 'mkv' : undefined;
}

/** Enough of a text to recognize it after a licence or a stylesheet. */
const TEXT_BYTES = 1024;

const BYTE_ORDER_MARK = /^\u00ef\u00bb\u00bf/;
/** In this order, because a web page may be XML too. */
const TEXTS: [start: RegExp, name: string][] = [
  [/^<[?!][\s\S]*<html\b/, 'a web page'],
  [
    /^<(!doctype html|html|head|title|meta|script|style|body|h[1-6]|p|div|pre|center|img|iframe|a|br)\b/,
    'a web page',
  ],
  [/^<([?!a-z])/, 'XML'],
  [/^(\{\s*("|\}|$)|\[\s*([\]{["\d-]|true|false|null|$))/, 'JSON'],
  [/^#extm3u/, 'a playlist'],
];

/** What a file is that is not a video: one clause for the user. */
export function describeHead(head: Buffer): string {
  if (head.length === 0) return 'it is empty';
  const text = head.toString('latin1', 0, TEXT_BYTES).replace(BYTE_ORDER_MARK, '').trimStart().toLowerCase();
  const [, name] = TEXTS.find(([start]) => start.test(text)) ?? [];
  return name === undefined ? 'it does not begin like any known video' : `it begins like ${name}`;
}
