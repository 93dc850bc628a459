import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { readGatewayConfig } from '../config/gateway-config';
import { ConfigError } from '../config/read-setting';
import { makeKey, parseKeys } from '../gateway/gateway-keys';
import { EXIT } from './exit-codes';
import { printLine, type Terminal } from './terminal';

interface GatewayKeyOptions {
  file?: string;
  ifMissing?: boolean;
}

/** `videogen gateway-key NAME`: prints a new key and adds its digest to the file of keys. */
export async function gatewayKey(
  name: string,
  options: GatewayKeyOptions,
  terminal: Terminal,
): Promise<number> {
  const file = options.file ?? readGatewayConfig(terminal.env).keysFile;
  if (file === undefined) {
    throw new ConfigError(
      'There is no file for the key: set VIDEOGEN_GATEWAY_KEYS_FILE, or give --file keys.txt.',
    );
  }
  const { key, line } = makeKey(name);
  const keys = readFile(file);
  if (options.ifMissing && parseKeys(keys, file).some((known) => known.name === name)) {
    printLine(terminal, `${name} has a key in ${file} already.`);
    return EXIT.ok;
  }
  addLine(file, keys, line);
  printLine(terminal, `Added ${name} to ${file}. This is its key, which is shown once:`);
  terminal.out(key);
  return EXIT.ok;
}

function readFile(file: string): string {
  try {
    return existsSync(file) ? readFileSync(file, 'utf8') : '';
  } catch (error) {
    throw new ConfigError(`${file} cannot be read (${error instanceof Error ? error.message : error}).`);
  }
}

function addLine(file: string, before: string, line: string): void {
  try {
    // A file with a mistake in it would be refused whole, the new key included.
    parseKeys(before, file);
    const separator = before === '' || before.endsWith('\n') ? '' : '\n';
    appendFileSync(file, `${separator}${line}\n`, { mode: 0o600 });
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    throw new ConfigError(`${file} cannot be written (${error instanceof Error ? error.message : error}).`);
  }
}
