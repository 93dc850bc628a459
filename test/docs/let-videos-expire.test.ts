import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { blocksOf, readPage, sectionOf } from '../support/docs-page';

const DAY_SECONDS = 86_400;

test('the line of cron removes old videos, sidecars and images, and nothing else', () => {
  const folder = mkdtempSync(join(tmpdir(), 'videogen-cron-'));
  const put = (file: string, daysAgo: number) => {
    const path = join(folder, file);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, 'a fox');
    const when = Date.now() / 1_000 - daysAgo * DAY_SECONDS;
    utimesSync(path, when, when);
  };
  const old = ['videos/old.mp4', 'videos/old.mp4.json', 'videos/red/old.mp4', 'images/shop/old.png'];
  const kept = [
    'images/link-secret',
    'jobs/old.0123456789abcdef/0001.json',
    'tasks/old.0001.json',
    'batches/old/results.jsonl',
  ];
  const young = ['videos/young.mp4', 'images/shop/young.png'];
  for (const file of [...old, ...kept]) put(file, 40);
  for (const file of young) put(file, 29);
  const [line = ''] = blocksOf(sectionOf(readPage('storage.md'), 'Let videos expire'), 'cron');
  const [, command = ''] = /^(?:\S+ ){5}(.*)$/m.exec(line) ?? [];
  execFileSync('sh', ['-c', command.replaceAll('/srv/videogen', folder)]);
  const left = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((one) => one.isFile())
    .map(({ parentPath, name }) => join(parentPath, name).slice(folder.length + 1));
  expect(left.sort()).toEqual([...kept, ...young].sort());
  rmSync(folder, { recursive: true });
});
