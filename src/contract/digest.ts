import { sha256 as digest } from '@noble/hashes/sha2.js';
import { bytesToHex } from '@noble/hashes/utils.js';

/** SHA-256 of a text as hex. Not by Node, because the workflow sandbox has no crypto. */
export function sha256(text: string): string {
  return bytesToHex(digest(new TextEncoder().encode(text)));
}

/** File systems allow 255 bytes; an extension and the suffix of a temporary name are added. */
const LONGEST_FILE_NAME_CHARS = 200;

/** An id as a file name. Different ids get different names. */
export function fileName(id: string): string {
  const name = encodeURIComponent(id).replace(/^\./, '%2E');
  if (name.length <= LONGEST_FILE_NAME_CHARS) return name;
  const end = sha256(id).slice(0, 32);
  return `${name.slice(0, LONGEST_FILE_NAME_CHARS - end.length - 1)}-${end}`;
}
