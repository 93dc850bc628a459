import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { ConfigError, withoutBlanks } from '../config/read-setting';
import { readSetting } from '../config/settings';
import { firstLineOf } from '../contract/error-code';
import { isKeyId, KEY_ID_RULE, makeEncryptionKey, parseKeyRing } from '../encryption/key-ring';
import { makeKey, parseKeys } from '../gateway/gateway-keys';
import { EXIT, printLine, type Terminal } from './terminal';

/** `videogen gateway-key NAME`: prints a new key and adds its digest to the file of keys. */
export async function gatewayKey(
  name: string,
  options: { file?: string; ifMissing?: boolean },
  terminal: Terminal,
): Promise<number> {
  const file = options.file ?? readSetting('VIDEOGEN_GATEWAY_KEYS_FILE', terminal.env);
  if (file === undefined) {
    throw new ConfigError(
      'There is no file for the key: set VIDEOGEN_GATEWAY_KEYS_FILE, or give --file keys.txt.',
    );
  }
  const { key, line } = makeKey(name);
  const before = readKeyFile(file);
  // A file with a mistake in it would be refused whole, the new key included.
  const keys = parseKeys(before, file);
  if (options.ifMissing && keys.some((known) => known.name === name)) {
    printLine(terminal, `${name} has a key in ${file} already.`);
    return EXIT.ok;
  }
  replaceKeyFile(file, `${lineBefore(before)}${line}\n`);
  printLine(terminal, `Added ${name} to ${file}. This is its key, which is shown once:`);
  terminal.out(key);
  return EXIT.ok;
}

/**
 * `videogen encryption-key NAME`: makes a key, and prints it or puts it into the file of keys: last, where it only decrypts, or first,
 * where it encrypts. A key that was put last is moved to the front.
 */
export async function encryptionKey(
  name: string,
  { file: given, last: isLast = false }: { file?: string; last?: boolean },
  terminal: Terminal,
): Promise<number> {
  if (!isKeyId(name)) throw new ConfigError(`The name of a key ${KEY_ID_RULE}.`);
  const place = isLast ? 'last' : 'first';
  const file = given ?? withoutBlanks(terminal.env).VIDEOGEN_ENCRYPTION_KEYS_FILE?.trim();
  if (file === undefined) {
    printLine(
      terminal,
      `This is the key. Put it ${place} in VIDEOGEN_ENCRYPTION_KEYS, with a comma between keys:`,
    );
    terminal.out(makeEncryptionKey(name));
    return EXIT.ok;
  }
  const before = readKeyFile(file);
  const { others, existing } = before.trim() === '' ? { others: '' } : takeOut(name, before, file, isLast);
  const key = existing ?? makeEncryptionKey(name);
  replaceKeyFile(file, isLast ? `${lineBefore(others)}${key}\n` : `${key}\n${others}`);
  const next = isLast
    ? `it decrypts after a restart. When all processes have it, put it first with: videogen encryption-key ${name} --file ${file}`
    : 'it encrypts after a restart. The other keys still decrypt.';
  printLine(terminal, `Put ${name} ${place} in ${file}: ${next}`);
  return EXIT.ok;
}

/** The keys of the file without the named one, which only a key that is not first may be. */
function takeOut(name: string, text: string, file: string, isLast: boolean) {
  const parsed = parseKeyRing(text);
  // A file with a mistake in it would be refused whole, the new key included.
  if ('problem' in parsed) throw new ConfigError(`${file} ${parsed.problem}: correct it first.`);
  if (parsed.ring.find(name) === undefined) return { others: text };
  if (isLast || parsed.ring.writingId === name)
    throw new ConfigError(`${file} has a key ${name} already: choose another name.`);
  const lines = text
    .split('\n')
    .flatMap((line) => (line.trimStart().startsWith('#') ? [line] : line.split(',')));
  const isNamed = (line: string) => line.trim().startsWith(`${name}:`);
  const others = lines.filter((line) => !isNamed(line) && line.trim() !== '');
  return { others: others.map((line) => `${line}\n`).join(''), existing: lines.find(isNamed)?.trim() };
}

/** The text, ready for another line. */
const lineBefore = (text: string) => (text === '' || text.endsWith('\n') ? text : `${text}\n`);

function readKeyFile(file: string): string {
  return orRefused(file, 'read', () => (existsSync(file) ? readFileSync(file, 'utf8') : ''));
}

/** A process that reads the file meanwhile finds it whole. */
function replaceKeyFile(file: string, text: string): void {
  const next = `${file}.new`;
  orRefused(file, 'written', () => {
    writeFileSync(next, text, { mode: 0o600 });
    renameSync(next, file);
  });
}

function orRefused<T>(file: string, what: 'read' | 'written', use: () => T): T {
  try {
    return use();
  } catch (error) {
    throw new ConfigError(`${file} cannot be ${what} (${firstLineOf(error)}).`);
  }
}
