import { spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

const ROOT = join(__dirname, '../..');

export type HostProject = ReturnType<typeof createHostProject>;

/** A user's project with the built package installed as npm installs it, and with its dependencies. */
export function createHostProject() {
  const folder = mkdtempSync(join(tmpdir(), 'videogen-host-'));
  const modules = join(folder, 'node_modules');
  const installed = join(modules, 'temporal-videogen');
  for (const part of ['dist', 'examples', 'package.json']) {
    cpSync(join(ROOT, part), join(installed, part), { recursive: true });
  }
  for (const name of packagesIn(join(ROOT, 'node_modules'))) {
    const link = join(modules, name);
    if (existsSync(link)) continue;
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(join(ROOT, 'node_modules', name), link);
  }
  return {
    folder,
    write(files: Record<string, string>): void {
      for (const [file, text] of Object.entries(files)) {
        mkdirSync(dirname(join(folder, file)), { recursive: true });
        writeFileSync(join(folder, file), text);
      }
    },
    /** Runs one of its files and returns its output, parsed as JSON. */
    run(file: string): unknown {
      const { stdout, stderr } = spawnSync(process.execPath, [join(folder, file)], {
        cwd: folder,
        encoding: 'utf8',
      });
      try {
        return JSON.parse(stdout);
      } catch {
        throw new Error(`${file} printed no JSON: ${stdout}${stderr}`);
      }
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

function packagesIn(modules: string): string[] {
  return readdirSync(modules)
    .filter((name) => !name.startsWith('.'))
    .flatMap((name) =>
      name.startsWith('@') ? readdirSync(join(modules, name)).map((part) => `${name}/${part}`) : [name],
    );
}
