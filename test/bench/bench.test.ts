import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chosenSections, measure } from '../../bench/run.cjs';
import { casesOf } from '../../bench/yardstick/cases.cjs';
import { CONTESTANTS } from '../../bench/yardstick/contestants/index.cjs';
import { billOf, sumOf } from '../../bench/yardstick/judge.cjs';
import { runCase } from '../../bench/yardstick/run-case.cjs';
import { devDependencies, files } from '../../package.json';
import { startEmulator } from '../../src/testing';
import { INTERFACE } from '../../src/testing/dialect';

const BENCH = join(__dirname, '../../bench');

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'videogen-bench-test-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

/** A script that writes a part of a section to the file after `--json`. */
function writeScript(file: string, part: object): void {
  const code = `require('node:fs').writeFileSync(process.argv[3], JSON.stringify({ ...${JSON.stringify(part)}, notes: [process.argv[4] ?? 'full'] }));`;
  writeFileSync(join(folder, file), code);
}

test('a script that is absent, fails or takes too long is skipped with a sentence, and the others are measured as ratios', async () => {
  const rows = [
    { name: 'bare', values: { polls: 4 } },
    { name: 'ours', values: { polls: 2 } },
  ];
  writeScript('good.cjs', {
    title: 'Good',
    ratioOf: 'polls',
    ratioTo: { row: 'bare', value: 'polls' },
    rows,
  });
  writeFileSync(join(folder, 'bad.cjs'), "throw new Error('no server');");
  writeFileSync(join(folder, 'slow.cjs'), 'setInterval(() => undefined, 1_000);');
  const sections = ['absent.cjs', 'bad.cjs', 'slow.cjs', 'good.cjs'].map((file) => ({
    section: file[0] ?? '',
    scripts: [{ file, limitSeconds: file === 'slow.cjs' ? 1 : 60, quick: { args: ['--quick'] } }],
  }));
  const report = await measure(sections, {
    scriptFolder: folder,
    isQuick: true,
    print: () => undefined,
    onProgress: () => undefined,
  });
  expect(report.sections).toMatchObject([
    { title: 'Good', notes: ['--quick'], rows: [{ ratio: 1 }, { ratio: 0.5 }] },
  ]);
  expect(report.skipped.map(({ section, why }) => `${section}: ${why}`)).toEqual([
    'a: bench/absent.cjs is not there.',
    expect.stringMatching(/^b: bench\/bad\.cjs failed: it ended with code 1: .*no server/s),
    's: bench/slow.cjs failed: it took longer than 1 s.',
  ]);
});

test('--only chooses sections by their letters and refuses one that does not exist', () => {
  expect(chosenSections('d,a').map(({ section }) => section)).toEqual(['a', 'd']);
  expect(chosenSections().map(({ section }) => section)).toEqual([...'abcdefgh']);
  expect(() => chosenSections('a,z')).toThrow('There is no section "z"');
});

const caseNamed = (name: string) => {
  const found = casesOf('test').find((one) => one.name === name);
  if (!found) throw new Error(`There is no case "${name}".`);
  return found;
};

let programs = 0;

/** Runs a small program in a case. */
async function billFor(name: string, main: string) {
  const program = join(folder, `${programs++}.cjs`);
  writeFileSync(
    program,
    `const { appendFileSync, existsSync, readFileSync, writeFileSync } = require('node:fs');
const { SERVICE_URL, SERVICE_KEY } = process.env;
const headers = { authorization: 'Bearer ' + SERVICE_KEY, 'content-type': 'application/json' };
const call = async (path, init) => (await fetch(SERVICE_URL + '/v1/videos' + path, { headers, ...init })).json();
const submit = async () => (await call('/text-to-video', { method: 'POST', body: '{"prompt":"A fox"}' })).task_id;
const link = async (id) => (await call('/' + id)).video_url ?? link(id);
const read = async (url) => Buffer.from(await (await fetch(url)).arrayBuffer());
const save = (bytes) => writeFileSync('video.mp4', bytes);
const note = { read: () => existsSync('note') ? readFileSync('note', 'utf8') : undefined, write: (id) => writeFileSync('note', id) };
(async () => { ${main} })();`,
  );
  const { log, ...result } = await runCase({ program, dialect: INTERFACE }, caseNamed(name), {
    startEmulator,
    name: 'fox',
  });
  return result;
}

const WHOLE = {
  paid: 1,
  delivered: 1,
  lost: 0,
  paidTwice: 0,
  corruptAccepted: 0,
  askedPerson: false,
  hasHappened: true,
};
const CAREFUL = 'const id = note.read() ?? await submit(); note.write(id); save(await read(await link(id)));';
const CARELESS = 'save(await read(await link(await submit())));';

test('the judge bills what the service saw, whatever the program says', async () => {
  const rows: [name: string, main: string, bill: object][] = [
    ['killed: poll on its way', CAREFUL, { ...WHOLE, runs: 2 }],
    ['killed: poll on its way', CARELESS, { ...WHOLE, paid: 2, paidTwice: 1, runs: 2 }],
    ['killed: POST on its way', CARELESS, { ...WHOLE, runs: 2 }],
    ['download: a web page', CAREFUL, { ...WHOLE, delivered: 0, lost: 1, corruptAccepted: 1, runs: 1 }],
    ['poll: 500', 'await submit();', { ...WHOLE, delivered: 0, lost: 1, hasHappened: false, runs: 1 }],
  ];
  const bills = await Promise.all(rows.map(([name, main]) => billFor(name, main)));
  expect(bills).toEqual(rows.map(([, , bill]) => bill));
});

test('a bill has what was paid for and what arrived, and only a whole video has arrived', () => {
  const file = join(folder, 'video.mp4');
  const sha256 = createHash('sha256').update('whole').digest('hex');
  const nothing = billOf({ tasks: [], file });
  const lost = billOf({ tasks: [{ sha256 }], file });
  writeFileSync(file, 'who');
  const corrupt = billOf({ tasks: [{ sha256 }], file });
  writeFileSync(file, 'whole');
  const twice = billOf({ tasks: [{ sha256 }, { sha256: 'other' }, { sha256 }], file });
  expect([nothing, lost, corrupt, twice].map((bill) => Object.values(bill))).toEqual([
    [0, 0, 0, 0, 0],
    [1, 0, 1, 0, 0],
    [1, 0, 1, 0, 1],
    [3, 1, 0, 2, 0],
  ]);
  expect(Object.values(sumOf([lost, corrupt, twice]))).toEqual([5, 1, 2, 2, 1]);
});

test('a seed has 14 faults and 10 kills, the same each time', () => {
  const cases = casesOf('7');
  expect(cases.filter(({ fault }) => fault)).toHaveLength(14);
  expect(cases.filter(({ when }) => when)).toHaveLength(10);
  expect(casesOf('7')).toEqual(cases);
  expect(casesOf('8')).not.toEqual(cases);
});

test('every contestant has a program, and the packages of the bench are pinned and not ours', () => {
  expect(files.filter((file) => file.startsWith('bench'))).toEqual([]);
  const { dependencies } = JSON.parse(readFileSync(join(BENCH, 'yardstick/package.json'), 'utf8'));
  const pinned = { ...dependencies, ...devDependencies };
  expect(CONTESTANTS.map(({ program }) => existsSync(program))).toEqual(CONTESTANTS.map(() => true));
  const packages = CONTESTANTS.flatMap((contestant) => contestant.packages ?? []);
  expect(Object.keys(pinned)).toEqual(expect.arrayContaining(packages));
  const versions = Object.values(dependencies).join('\n');
  expect(versions).toMatch(/^\d+\.\d+\.\d+(\n\d+\.\d+\.\d+)*$/);
  for (const project of ['yardstick', 'peers/bullmq', 'peers/dbos', 'peers/restate'])
    expect(readFileSync(join(BENCH, project, 'package-lock.json'), 'utf8')).not.toContain('"resolved"');
});
