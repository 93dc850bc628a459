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

/** One engine's place in the cache folder. */
export class ServerCache {
  readonly folder: string;
  private readonly name: string;
  private readonly file: string;

  constructor(private readonly entry: CacheEntry) {
    // Every version that decides what is made is in the name, so that an upgrade does not meet an older binary.
    const { cacheFolder, program, version } = entry;
    this.name = `${program}-${version}-sdk-${sdkVersion}-${process.platform}-${process.arch}`;
    // A tool that fetches or builds has a working directory of its own.
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
      const flaw = await whyNotExecutable(target);
      if (flaw !== undefined) throw new Error(`it said that it was done, but ${target} ${flaw}`);
    };
    await buildOnce(dirname(this.folder), this.name, buildAndCheck, progress.onProgress);
    const made = await this.find();
    if (made === undefined) throw new Error(`${this.folder} has lost its ${this.file}: delete that folder`);
    return made;
  }
}
