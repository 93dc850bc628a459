/** As much of a text as is needed to tell what it is, with a licence or a stylesheet before it. */
const TEXT_BYTES = 1024;

const BYTE_ORDER_MARK = /^\u00ef\u00bb\u00bf/;
/** In this order: a page may be XML too, and any of its tags could be one of XML. */
const TEXTS: [begins: RegExp, like: string][] = [
  [/^<[?!][\s\S]*<html\b/, 'a web page'],
  [
    /^<(!doctype html|html|head|title|meta|script|style|body|h[1-6]|p|div|pre|center|img|iframe|a|br)\b/,
    'a web page',
  ],
  [/^<([?!a-z])/, 'XML'],
  [/^(\{\s*("|\}|$)|\[\s*([\]{["\d-]|true|false|null|$))/, 'JSON'],
  [/^#extm3u/, 'a playlist'],
];

/** What a file is that begins like no video: one clause, for people. */
export function describeHead(head: Buffer): string {
  if (head.length === 0) return 'it is empty';
  const text = head.toString('latin1', 0, TEXT_BYTES).replace(BYTE_ORDER_MARK, '').trimStart().toLowerCase();
  const like = TEXTS.find(([begins]) => begins.test(text))?.[1] ?? 'no video that is known';
  return `it begins like ${like}`;
}
