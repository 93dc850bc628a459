import { createHash, randomBytes } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { ConfigError } from '../config/read-setting';
import { CALLER_RULE, isCaller } from '../contract/input-rules';

/** What one key may do. A limit that is not set does not apply. */
export interface KeyLimits {
  requestsPerSecond?: number;
  jobsAtATime?: number;
  jobsADay?: number;
  images?: number;
}

/** A key that opens the gateway. The file has its digest, so that who reads the file cannot use the key. */
export interface GatewayKey {
  /** Whose key it is: part of the names of its jobs, and their fairness key. */
  name: string;
  /** The SHA-256 of the key, as 64 hex digits. */
  sha256: string;
  limits: KeyLimits;
}

const DIGEST = /^[0-9a-f]{64}$/i;

/** How the limits are written in the file, after the digest. */
const LIMITS = new Map<string, keyof KeyLimits>([
  ['requests-per-second', 'requestsPerSecond'],
  ['jobs-at-a-time', 'jobsAtATime'],
  ['jobs-a-day', 'jobsADay'],
  ['images', 'images'],
]);

/** A new key, and the line for the file of keys. The key is shown once and stored nowhere. */
export function makeKey(name: string): { key: string; line: string } {
  if (!isCaller(name)) throw new ConfigError(`The name of a key ${CALLER_RULE}.`);
  const key = `vgk_${randomBytes(32).toString('base64url')}`;
  return { key, line: `${name} ${digestOf(key)}` };
}

/** Reads lines of `NAME SHA256 [LIMIT=NUMBER…]`. Blank lines and lines that begin with # are skipped. */
export function parseKeys(text: string, file: string): GatewayKey[] {
  const keys: GatewayKey[] = [];
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (/^\s*(#|$)/.test(line)) continue;
    const [name = '', sha256 = '', ...limits] = line.trim().split(/\s+/);
    const where = `line ${index + 1} of ${file}`;
    if (!isCaller(name)) throw new ConfigError(`The name in ${where} ${CALLER_RULE}.`);
    if (!DIGEST.test(sha256)) {
      throw new ConfigError(
        `After the name, ${where} must have 64 hex digits: videogen gateway-key ${name} prints one.`,
      );
    }
    keys.push({ name, sha256: sha256.toLowerCase(), limits: readLimits(limits, where) });
  }
  return keys;
}

function readLimits(words: readonly string[], where: string): KeyLimits {
  const limits: KeyLimits = {};
  for (const word of words) {
    const [given = '', value = ''] = word.split('=', 2);
    const limit = LIMITS.get(given);
    const form = limit === 'requestsPerSecond' ? /^\d{1,9}(\.\d{1,9})?$/ : /^\d{1,9}$/;
    const most = form.test(value) ? Number(value) : 0;
    if (limit === undefined || most <= 0) {
      // Without the word: it may be a key.
      throw new ConfigError(
        `After the digest, ${where} may have limits only, such as requests-per-second=20 jobs-at-a-time=10 jobs-a-day=500.`,
      );
    }
    limits[limit] = most;
  }
  return limits;
}

/** Finds whose key a caller sent. One name may have several keys, while the old one is being replaced. */
export interface GatewayKeys {
  /** Undefined for a key that is not in the file. */
  find(key: string): GatewayKey | undefined;
  named(name: string): GatewayKey[];
}

/** A file may be written twice in what is one moment to its disk. */
const SETTLED_AFTER_MS = 1_000;

/** Keys of a file that is read again when it has changed: a key that was removed is refused at the next call. */
export function openKeyFile(file: string, onProblem: (problem: ConfigError) => void): GatewayKeys {
  let version = versionOf(file);
  let keys = byDigest(parseKeys(readKeyFile(file), file));
  let problem: string | undefined;
  const refresh = () => {
    const now = versionOf(file);
    if (now !== undefined && now === version) return;
    version = now;
    try {
      keys = byDigest(parseKeys(readKeyFile(file), file));
      problem = undefined;
    } catch (error) {
      // A file that is being edited must not lock everyone out, nor let a removed key in again.
      const found = error instanceof ConfigError ? error : new ConfigError(String(error));
      if (found.message !== problem) onProblem(found);
      problem = found.message;
    }
  };
  return {
    find: (key) => {
      refresh();
      // The time of a lookup could tell about digests at most, and no digest leads to its key.
      return keys.get(digestOf(key));
    },
    named: (name) => {
      refresh();
      return [...keys.values()].filter((key) => key.name === name);
    },
  };
}

/** Of lines with the same digest the last one counts. */
const byDigest = (keys: readonly GatewayKey[]) => new Map(keys.map((key) => [key.sha256, key]));

/** The same while the file is; undefined for one that must be read to know. */
function versionOf(file: string): string | undefined {
  try {
    const { dev, ino, size, mtimeMs, ctimeMs } = statSync(file);
    if (Date.now() - ctimeMs < SETTLED_AFTER_MS) return undefined;
    return [dev, ino, size, mtimeMs, ctimeMs].join();
  } catch {
    return undefined;
  }
}

function readKeyFile(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new ConfigError(
      `VIDEOGEN_GATEWAY_KEYS_FILE names ${file}, which cannot be read (${error instanceof Error ? error.message : error}): make it with videogen gateway-key NAME.`,
    );
  }
}

const digestOf = (key: string) => createHash('sha256').update(key).digest('hex');
