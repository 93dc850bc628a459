import { open } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { version as sdkVersion } from '@temporalio/testing/package.json';
import { buildOnce } from './build-once';
import { executableName, isExecutableFile, whyNotExecutable } from './executable-file';
import { type Progress, type Work, withSignOfLife } from './sign-of-life';

export interface CacheEntry {
  readonly cacheFolder: string;
  readonly program: string;
  readonly version: string;
  readonly progress: Progress;
}

type OnPercent = Parameters<Work>[0];

/** The cache folder of one server executable. */
export class ServerCache {
  readonly folder: string;
  private readonly name: string;
  private readonly file: string;

  constructor(private readonly entry: CacheEntry) {
    // The name contains every version that affects the executable, so an upgrade never finds an older one.
    const { cacheFolder, program, version } = entry;
    this.name = `${program}-${version}-sdk-${sdkVersion}-${process.platform}-${process.arch}`;
    // Absolute, because the tools that download or build run in another working directory.
    this.folder = resolve(cacheFolder, this.name);
    this.file = executableName(program);
  }

  async find(): Promise<string | undefined> {
    const path = join(this.folder, this.file);
    return (await isExecutableFile(path)) ? path : undefined;
  }

  async make(
    what: string,
    expectation: string,
    build: (target: string, onPercent: OnPercent) => Promise<void>,
  ): Promise<string> {
    const { progress } = this.entry;
    const buildAndCheck = async (folder: string) => {
      const target = join(folder, this.file);
      await withSignOfLife(what, expectation, progress, (onPercent) => build(target, onPercent));
      const problem = await whyNotExecutable(target);
      if (problem !== undefined) throw new Error(`it reported success, but ${target} ${problem}`);
      await writeToDisk(target);
    };
    await buildOnce(dirname(this.folder), this.name, buildAndCheck, progress.onProgress);
    const path = await this.find();
    if (path === undefined) throw new Error(`${this.folder} has no ${this.file}: delete that folder`);
    return path;
  }
}

/** Otherwise the name could survive a power failure, and the bytes not. */
async function writeToDisk(file: string): Promise<void> {
  const handle = await open(file, 'r+');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
