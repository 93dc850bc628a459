import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { ENCRYPTION_SETTINGS } from '../config/encryption-config';
import { ConfigError, readerOf } from '../config/read-setting';
import { isKeyId, KEY_ID_RULE, makeEncryptionKey, parseKeyRing } from '../encryption/key-ring';
import { EXIT } from './exit-codes';
import type { EncryptionKeyOptions } from './options';
import { printLine, type Terminal } from './terminal';

const read = readerOf(ENCRYPTION_SETTINGS);

/** `videogen encryption-key NAME`: makes a key, and prints it or puts it first in the file of keys. */
export async function encryptionKey(
  name: string,
  options: EncryptionKeyOptions,
  terminal: Terminal,
): Promise<number> {
  if (!isKeyId(name)) throw new ConfigError(`The name of a key ${KEY_ID_RULE}.`);
  const key = makeEncryptionKey(name);
  const file = options.file ?? read('VIDEOGEN_ENCRYPTION_KEYS_FILE', terminal.env);
  if (file === undefined) {
    printLine(terminal, 'This is the key. Put it first in VIDEOGEN_ENCRYPTION_KEYS, before a comma:');
    terminal.out(key);
    return EXIT.ok;
  }
  const before = readFile(file);
  checkFile(before, name, file);
  writeFirst(file, `${key}\n${before}`);
  const others = before.trim() === '' ? '' : ' The other keys still decrypt.';
  printLine(terminal, `Put ${name} first in ${file}: it encrypts after a restart.${others}`);
  return EXIT.ok;
}

function readFile(file: string): string {
  try {
    return existsSync(file) ? readFileSync(file, 'utf8') : '';
  } catch (error) {
    throw new ConfigError(`${file} cannot be read (${error instanceof Error ? error.message : error}).`);
  }
}

/** A file with a mistake in it would be refused whole, the new key included. */
function checkFile(before: string, name: string, file: string): void {
  if (before.trim() === '') return;
  const parsed = parseKeyRing(before);
  if ('problem' in parsed) throw new ConfigError(`${file} ${parsed.problem}: correct it first.`);
  if (parsed.ring.find(name)) {
    throw new ConfigError(`${file} has a key ${name} already: choose another name.`);
  }
}

/** A process that reads the file meanwhile finds it whole. */
function writeFirst(file: string, text: string): void {
  const next = `${file}.new`;
  try {
    writeFileSync(next, text, { mode: 0o600 });
    renameSync(next, file);
  } catch (error) {
    throw new ConfigError(`${file} cannot be written (${error instanceof Error ? error.message : error}).`);
  }
}
