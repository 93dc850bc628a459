import { createSecretKey, type KeyObject, randomBytes } from 'node:crypto';

/** Keys by id. All of them decrypt; the first encrypts. */
export interface EncryptionKeyRing {
  /** The id of the key that encrypts. */
  readonly writingId: string;
  /** Undefined for a key that is not in the ring. */
  find(id: string): KeyObject | undefined;
  /** As they are written down, for those who redact them. */
  secrets(): string[];
}

/** AES-256 takes no other length. */
const KEY_BYTES = 32;
const KEY_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/;
export const KEY_ID_RULE = 'must be 1 to 63 letters, digits, dots, dashes or underscores, such as 2026-11';
/** Base64 in both alphabets: the checked length leaves no room for anything else. */
const KEY_TEXT = /^[A-Za-z0-9+/_-]{43}=?$/;
const ENTRY = /^([^:]*):(.*)$/;
const ENTRY_RULE = `that is not ID:BASE64 with ${KEY_BYTES} bytes: the id ${KEY_ID_RULE}`;

/** The problem follows the name of a setting. Never with a value: it may be a key. */
export type ParsedKeyRing = { ring: EncryptionKeyRing } | { problem: string };

export function isKeyId(given: string): boolean {
  return KEY_ID.test(given);
}

/** A new key, as a ring is written. */
export function makeEncryptionKey(id: string): string {
  return `${id}:${randomBytes(KEY_BYTES).toString('base64')}`;
}

/** Reads `ID:BASE64`, separated by commas or lines. Blank lines and lines that begin with # are skipped. */
export function parseKeyRing(text: string): ParsedKeyRing {
  const entries = text
    .split(/\r?\n/)
    .filter((line) => !line.trimStart().startsWith('#'))
    .flatMap((line) => line.split(','))
    .map((entry) => entry.trim())
    .filter(Boolean);
  if (entries.length === 0) return { problem: 'has no key' };
  const keys = new Map<string, string>();
  for (const [index, entry] of entries.entries()) {
    const [, id = '', key = ''] = ENTRY.exec(entry) ?? [];
    // Not even the id: it may be a key in the wrong place.
    if (!isKeyId(id) || !KEY_TEXT.test(key)) return { problem: `has a key ${index + 1} ${ENTRY_RULE}` };
    if (keys.has(id)) return { problem: `has the id ${id} twice` };
    keys.set(id, key);
  }
  return { ring: ringOf(keys) };
}

function ringOf(texts: ReadonlyMap<string, string>): EncryptionKeyRing {
  // A key object prints none of its bytes.
  const keys = new Map([...texts].map(([id, text]) => [id, createSecretKey(text, 'base64')]));
  const [writingId = ''] = keys.keys();
  return { writingId, find: (id) => keys.get(id), secrets: () => [...texts.values()] };
}
