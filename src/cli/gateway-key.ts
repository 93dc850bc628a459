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
  const before = attempt(`${file} cannot be read`, () =>
    existsSync(file) ? readFileSync(file, 'utf8') : '',
  );
  // A file with a mistake in it would be refused whole, the new key included.
  const keys = parseKeys(before, file);
  if (options.ifMissing && keys.some((known) => known.name === name)) {
    printLine(terminal, `${name} has a key in ${file} already.`);
    return EXIT.ok;
  }
  const separator = before === '' || before.endsWith('\n') ? '' : '\n';
  attempt(`${file} cannot be written`, () => appendFileSync(file, `${separator}${line}\n`, { mode: 0o600 }));
  printLine(terminal, `Added ${name} to ${file}. This is its key, which is shown once:`);
  terminal.out(key);
  return EXIT.ok;
}

function attempt<T>(problem: string, access: () => T): T {
  try {
    return access();
  } catch (error) {
    throw new ConfigError(`${problem} (${error instanceof Error ? error.message : error}).`);
  }
}
