import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readServerOptions } from '../../../src/config/temporal-config';
import { findDevServer } from '../../../src/temporal-server';
import { type ClusterProgram, findClusterProgram, sourcesOf } from '../../support/temporal-cluster';
import { docker, dockerLine } from '../stack';

const ROOT = join(__dirname, '../../..');
/** Marks what we made, so that an image that was pulled is never replaced. */
const LABEL = 'temporal-videogen.stand-in';
const BASE = 'videogen-stand-in:debian';
/** Of Node 22. */
const NPM = '10.9.9';
/** Where Debian and its derivatives keep the certificates that a machine trusts. */
const CERTIFICATES = '/etc/ssl/certs/ca-certificates.crt';
/** Not where programs look for root certificates, which the images that we stand in for do not have either. */
const FOR_NPM = '/usr/local/share/certificates-of-this-machine.pem';

interface StandIn {
  dockerfile: string;
  /** For the transcript: what it is made of. */
  madeOf: string;
  /** Puts what the Dockerfile copies into the folder, beside the files that stand next to it. */
  prepare?(folder: string, version: string): Promise<void>;
}

const say = (line: string) => process.stderr.write(`${line}\n`);

async function copyProgram(name: ClusterProgram, folder: string): Promise<void> {
  say(`  ${name}: from the cache, or built with Go in some minutes`);
  copyFileSync(await findClusterProgram(name), join(folder, name));
}

/** A package of npm, unpacked. */
function unpack(name: string, folder: string): string {
  const target = mkdtempSync(join(folder, 'package-'));
  const [packed] = JSON.parse(
    execFileSync('npm', ['pack', name, '--json', '--silent'], { cwd: target, encoding: 'utf8' }),
  );
  execFileSync('tar', ['-xzf', packed.filename], { cwd: target });
  return join(target, 'package');
}

/** By the image's name without its version. */
const STAND_INS: Readonly<Record<string, StandIn>> = {
  node: {
    dockerfile: 'node.Dockerfile',
    madeOf: "Debian with Node from npm's package",
    async prepare(folder, tag) {
      const version = tag.split('-')[0];
      const node = unpack(`node-linux-${process.arch}@${version}`, folder);
      copyFileSync(join(node, 'bin/node'), join(folder, 'node'));
      chmodSync(join(folder, 'node'), 0o755);
      cpSync(unpack(`npm@${NPM}`, folder), join(folder, 'npm'), { recursive: true });
    },
  },
  postgres: {
    dockerfile: 'postgres.Dockerfile',
    madeOf: "Debian's PostgreSQL 15",
  },
  'temporalio/server': {
    dockerfile: 'temporal-server.Dockerfile',
    madeOf: 'the server built from its Go module',
    prepare: (folder) => copyProgram('temporal-server', folder),
  },
  'temporalio/admin-tools': {
    dockerfile: 'admin-tools.Dockerfile',
    madeOf: "the SQL tool built from its Go module, and the release of Temporal's CLI",
    async prepare(folder) {
      await copyProgram('temporal-sql-tool', folder);
      copyFileSync(await findDevServer(readServerOptions()), join(folder, 'temporal'));
      copyFolder(join(sourcesOf('go.temporal.io/server'), 'schema'), join(folder, 'schema'));
    },
  },
  'temporalio/ui': {
    dockerfile: 'ui.Dockerfile',
    madeOf: 'the UI built from its Go module',
    async prepare(folder) {
      await copyProgram('ui-server', folder);
      copyFolder(join(sourcesOf('github.com/temporalio/ui-server/v2'), 'config'), join(folder, 'config'));
    },
  },
};

/** Go's module cache is read-only, which its copy is not to be. */
function copyFolder(from: string, to: string): void {
  mkdirSync(to);
  execFileSync('cp', ['-R', '--no-preserve=mode', `${from}/.`, to]);
}

/** The images that docker-compose.yml and the Dockerfile name and that others publish. */
function foreignImages(): string[] {
  const texts = ['docker-compose.yml', 'Dockerfile'].map((file) => readFileSync(join(ROOT, file), 'utf8'));
  const images = texts.join('\n').matchAll(/^(?:FROM| *image:) +(\S+:\d\S*)/gm);
  return [...new Set(Array.from(images, ([, image = '']) => image))];
}

/** Whether there is an image of that name that we did not make. */
const isPulled = (image: string): Promise<boolean> =>
  dockerLine('image', 'inspect', '--format', `{{index .Config.Labels "${LABEL}"}}`, image).then(
    (label) => label !== 'true',
    () => false,
  );

async function makeBase(): Promise<void> {
  if ((await dockerLine('images', '--quiet', BASE)) !== '') return;
  say(`${BASE}: Debian by debootstrap, a minute or two`);
  const folder = mkdtempSync(join(tmpdir(), 'videogen-debian-'));
  try {
    const packages = '--include=netcat-openbsd,wget';
    execFileSync('debootstrap', ['--variant=minbase', packages, 'bookworm', folder], { stdio: 'ignore' });
    // Behind a proxy that opens TLS, npm trusts what this machine trusts.
    if (existsSync(CERTIFICATES)) copyFileSync(CERTIFICATES, join(folder, FOR_NPM));
    rmSync(join(folder, 'var/cache/apt'), { recursive: true, force: true });
    rmSync(join(folder, 'var/lib/apt/lists'), { recursive: true, force: true });
    const archive = `${folder}.tar`;
    execFileSync('tar', ['-C', folder, '-cf', archive, '.']);
    const trust = `ENV NODE_EXTRA_CA_CERTS=${FOR_NPM}`;
    await docker(['import', '--change', trust, archive, BASE]).finally(() => rmSync(archive));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Makes local images under the names of those that this machine cannot pull: the same programs on Debian, without the rest of
 * the real images. Needs root and `debootstrap`. What was pulled stays. Resolves with a phrase about each.
 */
export async function makeStandIns(): Promise<string[]> {
  const images = foreignImages();
  if (images.some((image) => image.includes('@')))
    throw new Error(
      'Nothing stands in for a digest: run npm run images:pin -- --remove, and git restore later.',
    );
  await makeBase();
  const made: string[] = [];
  for (const image of images) {
    const [name = '', version = ''] = image.split(':');
    if (await isPulled(image)) continue;
    const standIn = STAND_INS[name];
    if (standIn === undefined)
      throw new Error(`There is no stand-in for ${image}: add one to ${__filename}.`);
    say(`${image}: ${standIn.madeOf}`);
    const folder = mkdtempSync(join(tmpdir(), 'videogen-stand-in-'));
    try {
      cpSync(__dirname, folder, { recursive: true });
      await standIn.prepare?.(folder, version);
      const file = join(folder, standIn.dockerfile);
      await docker(['build', '--label', `${LABEL}=true`, '--tag', image, '--file', file, folder]);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
    made.push(`\`${image}\`: ${standIn.madeOf}`);
  }
  return made;
}
