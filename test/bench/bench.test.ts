import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { casesOf } from '../../bench/yardstick/cases.cjs';
import { runCase } from '../../bench/yardstick/run-case.cjs';
import { startEmulator } from '../../src/testing';
import { INTERFACE } from '../../src/testing/dialect';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'videogen-bench-test-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

let programs = 0;

/** Runs a small program in a case. */
async function billFor(name: string, main: string) {
  const found = casesOf('test').find((one) => one.name === name);
  if (!found) throw new Error(`There is no case "${name}".`);
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
  const how = { startEmulator, name: 'fox' };
  const { log, ...result } = await runCase({ program, dialect: INTERFACE }, found, how);
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

test('a seed has the same faults and kills each time, and another one others', () => {
  expect(casesOf('7')).toEqual(casesOf('7'));
  expect(casesOf('8')).not.toEqual(casesOf('7'));
});
