import { sha256 } from './sha256';

/** File systems allow 255 bytes; an extension and the suffix of a temporary name are added. */
const LONGEST_FILE_NAME_CHARS = 200;

/** An id as a file name. Different ids get different names. */
export function fileName(id: string): string {
  const name = encodeURIComponent(id).replace(/^\./, '%2E');
  if (name.length <= LONGEST_FILE_NAME_CHARS) return name;
  const digest = sha256(id).slice(0, 32);
  return `${name.slice(0, LONGEST_FILE_NAME_CHARS - digest.length - 1)}-${digest}`;
}
