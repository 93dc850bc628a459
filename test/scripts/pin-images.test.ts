import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { scripts } from '../../package.json';
import { parseCompose, parseDockerfile } from '../support/compose-file';

const ROOT = join(__dirname, '../..');
const SCRIPT = join(ROOT, 'scripts/pin-images.cjs');
const FILES = ['Dockerfile', 'docker-compose.yml'];
const DIGEST = `sha256:${'0f'.repeat(32)}`;

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'videogen-pins-'));
  for (const file of FILES) copyFileSync(join(ROOT, file), join(folder, file));
});
afterEach(() => rmSync(folder, { recursive: true }));

const texts = (where: string) => FILES.map((file) => readFileSync(join(where, file), 'utf8'));

/** Runs the script with a Docker that answers so. */
function pin(answer: string, ...args: string[]): number | null {
  writeFileSync(join(folder, 'docker'), `#!/bin/sh\n${answer}\n`, { mode: 0o755 });
  const env = { ...process.env, PATH: `${folder}:${process.env.PATH}` };
  return spawnSync(process.execPath, [SCRIPT, ...args], { cwd: folder, env }).status;
}

test('every image of others gets its digest, a second time too, and loses it again', () => {
  for (let time = 0; time < 2; time++) expect(pin(`echo ${DIGEST}`)).toBe(0);
  const [dockerfile = '', compose = ''] = texts(folder);
  const stages = parseDockerfile(dockerfile);
  const images = [
    ...stages.map(({ image }) => image).filter((image) => !stages.some(({ name }) => name === image)),
    ...Object.values(parseCompose(compose).services).flatMap(({ build, image = '' }) =>
      build === undefined ? [image] : [],
    ),
  ];
  expect(images.length).toBeGreaterThan(5);
  for (const image of images) expect(image).toMatch(new RegExp(`^[a-z/-]+:[^@]+@${DIGEST}$`));
  expect(pin('exit 1', '--remove')).toBe(0);
  expect(texts(folder).join()).not.toContain('@sha256');
});

test.each(['exit 1', 'echo no digest'])('a Docker that says no digest (%s) changes nothing', (answer) => {
  expect(pin(answer)).not.toBe(0);
  expect(texts(folder)).toEqual(texts(ROOT));
});

test('there is a command for it', () => {
  expect(scripts['images:pin']).toBe('node scripts/pin-images.cjs');
});
