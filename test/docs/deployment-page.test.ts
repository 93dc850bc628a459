import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as cluster from '../../bench/cluster.cjs';
import { replacePart } from '../../bench/support/page.cjs';
import { COMMANDS } from '../compose/commands';
import * as compose from '../compose/page';
import { parseManifests } from '../kubernetes/manifests';
import { blocksOf, readPage, sectionOf } from '../support/docs-page';

const ROOT = join(__dirname, '../..');
const page = readPage('deployment.md');
const read = (file: string) => JSON.parse(readFileSync(file, 'utf8'));

test('the transcript is the one that `npm run compose:try -- --page` stored, not edited by hand', () => {
  expect(replacePart(page, compose.transcriptOf(read(compose.REPORT)), compose.PART)).toBe(page);
});

test('the sizing table is the one that `npm run bench:cluster -- --page` stored, not edited by hand', () => {
  expect(replacePart(page, cluster.partOf(read(cluster.REPORT)), cluster.PART)).toBe(page);
});

test.each([compose.REPORT, cluster.REPORT])('%s names no machine, folder or registry', (file) => {
  expect(readFileSync(file, 'utf8')).not.toMatch(/\/(home|root|tmp|work|usr)\/|https?:|\blocalhost\b/);
});

const linesOf = (heading: string) =>
  blocksOf(sectionOf(page, heading), 'sh').flatMap((block) => block.trim().split('\n'));

test('compose:try runs every command for Docker Compose, as it is written', () => {
  expect(linesOf('With Docker Compose').sort()).toEqual(Object.values(COMMANDS).sort());
});

test('the commands for Kubernetes name what the manifests have, and the page says that they need a cluster', () => {
  const commands = linesOf('On Kubernetes');
  expect(sectionOf(page, 'On Kubernetes')).toContain('these commands need a cluster');
  expect(commands.filter((line) => !/^(kubectl|videogen|docker (build|push)) /.test(line))).toEqual([]);
  const files = commands.flatMap((line) => line.match(/\bdeploy\/\S+/g) ?? []);
  expect(files.filter((file) => !existsSync(join(ROOT, file)))).toEqual([]);
  expect(files.length).toBeGreaterThan(1);
  const example = readFileSync(join(ROOT, 'deploy/kubernetes/secrets.example.yaml'), 'utf8');
  const secrets = parseManifests(example).map(({ metadata, stringData = {} }) => [
    metadata.name,
    ...Object.keys(stringData),
  ]);
  const made = commands.map((line) => /secret generic (\S+) --from-file=([^=]+)=/.exec(line)?.slice(1));
  expect(made.filter(Boolean)).toEqual(secrets);
});

test('no other shell block is on the page', () => {
  const shown = [...linesOf('With Docker Compose'), ...linesOf('On Kubernetes')];
  expect(blocksOf(page, 'sh').flatMap((block) => block.trim().split('\n'))).toEqual(shown);
});
