import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Check, ok, skipped, warning, wrong } from '../../src/cli/doctor/check';
import { checkSettings } from '../../src/cli/doctor/check-settings';
import { judgeSpace } from '../../src/cli/doctor/check-storage';
import { isAtLeast } from '../../src/cli/doctor/check-versions';
import { judgePollers } from '../../src/cli/doctor/check-workers';
import { CHECKS } from '../../src/cli/doctor/checks';
import { createContext } from '../../src/cli/doctor/context';
import { findingLines, summaryLine } from '../../src/cli/doctor/finding-lines';
import { CHECK_LIMIT_MS } from '../../src/cli/doctor/limits';
import { secretHider } from '../../src/cli/doctor/report';
import { runChecks } from '../../src/cli/doctor/run-checks';
import type { Environment } from '../../src/config/read-setting';

const context = createContext({});

async function findingsOf(checks: Check[], limitMs?: number) {
  const started = runChecks(checks, context, limitMs);
  return Promise.all(started.map(async ({ name, finding }) => [name, await finding]));
}

describe('checks', () => {
  it('each stand below those that they need', () => {
    const names = CHECKS.map(({ name }) => name);
    for (const [index, { needs = [] }] of CHECKS.entries()) {
      for (const need of needs) expect(names.slice(0, index)).toContain(need);
    }
    expect(new Set(names).size).toBe(names.length);
  });

  it('wait for one another no longer than 15 s in all', () => {
    const depths = new Map<string, number>();
    for (const { name, needs = [] } of CHECKS) {
      depths.set(name, 1 + Math.max(0, ...needs.map((need) => depths.get(need) ?? 0)));
    }
    expect(Math.max(...depths.values()) * CHECK_LIMIT_MS).toBeLessThanOrEqual(15_000);
  });

  it('run side by side, and one that throws says what it threw', async () => {
    // Each ends only once all three have begun.
    let toBegin = 3;
    let allBegun = () => {};
    const together = new Promise<void>((resolve) => {
      allBegun = resolve;
    });
    const waiting = (name: Check['name']): Check => ({
      name,
      async run() {
        toBegin -= 1;
        if (toBegin === 0) allBegun();
        await together;
        return ok('met the others');
      },
    });
    const throwing: Check = {
      name: 'storage',
      run: async () => {
        throw new Error('the disk is gone');
      },
    };
    expect(await findingsOf([waiting('temporal'), waiting('service'), waiting('clock'), throwing])).toEqual([
      ['temporal', ok('met the others')],
      ['service', ok('met the others')],
      ['clock', ok('met the others')],
      ['storage', expect.objectContaining({ state: 'wrong', found: 'cannot be told (the disk is gone)' })],
    ]);
  });

  it('that do not end are cut off, and those that need them are skipped', async () => {
    let cut = false;
    const endless: Check = {
      name: 'temporal',
      run: (_context, signal) => {
        signal.addEventListener('abort', () => {
          cut = true;
        });
        return new Promise(() => undefined);
      },
    };
    const needy: Check = { name: 'namespace', needs: ['temporal'], run: async () => ok('never') };
    const needier: Check = { name: 'workers', needs: ['namespace'], run: async () => ok('never') };
    expect(await findingsOf([endless, needy, needier], 50)).toEqual([
      ['temporal', expect.objectContaining({ state: 'wrong', found: 'did not end within 0.05 s' })],
      ['namespace', skipped('it needs temporal')],
      ['workers', skipped('it needs namespace')],
    ]);
    expect(cut).toBe(true);
  });

  it('are not skipped for a warning', async () => {
    const warned: Check = { name: 'service', run: async () => warning('slow', 'Wait.') };
    const needy: Check = { name: 'key', needs: ['service'], run: async () => ok('taken') };
    expect(await findingsOf([warned, needy])).toMatchObject([
      ['service', {}],
      ['key', ok('taken')],
    ]);
  });
});

describe('settings', () => {
  const told = (env: Environment) => checkSettings.run(createContext(env), AbortSignal.abort());

  it.each([
    ['VIDEOGEN_STORGE', 'VIDEOGEN_STORAGE'],
    ['VIDEOGEN_TASKQUEUE', 'VIDEOGEN_TASK_QUEUE'],
    ['VIDEOGEN_SUBMIT_PER_SECOND', 'VIDEOGEN_SUBMITS_PER_SECOND'],
    ['VIDEO_API_URL', 'VIDEO_API_BASE_URL'],
    ['VIDEOGEN_BASE_URL', 'VIDEO_API_BASE_URL'],
    ['VIDEOGEN_API_KEY', 'VIDEO_API_KEY'],
    ['VIDEOGEN_QUEUE', 'VIDEOGEN_TASK_QUEUE'],
    ['TEMPORAL_ADRESS', 'TEMPORAL_ADDRESS'],
  ])('misspelt as %s are told with what was meant, and never with their value', async (name, meant) => {
    expect(await told({ [name]: 'sk-secret' })).toEqual({
      state: 'wrong',
      found: 'one of them is wrong',
      fix: `${name} is not a setting: did you mean ${meant}?`,
    });
  });

  it('that mean nothing here are named, and are somebody else’s to fix', async () => {
    const finding = await told({ VIDEOGEN_COLOUR: 'red', VIDEOGEN_: 'x', TEMPORAL_CODEC_ENDPOINT: 'x' });
    expect(finding).toMatchObject({
      state: 'warning',
      found: 'all can be read; nothing reads VIDEOGEN_COLOUR, VIDEOGEN_',
    });
  });

  it('that are blank are not set, whatever they are called', async () => {
    const blank = { VIDEOGEN_STORGE: ' ', VIDEO_API_KEY: '' };
    expect(await told(blank)).toEqual(ok('all can be read'));
  });

  it.each(['VIDEO_API_KEY', 'VIDEO_API_KEY_FILE'])('with %s and no address are not ready', async (name) => {
    const file = join(__dirname, '../../secrets/emulator-api-key');
    expect(await told({ [name]: name === 'VIDEO_API_KEY' ? 'sk-secret' : file })).toEqual({
      state: 'wrong',
      found: 'one of them is wrong',
      fix: `${name} is set, and VIDEO_API_BASE_URL is not: set that to the address of the video service, such as https://api.example.com, or unset ${name} to use the emulator.`,
    });
  });

  it('with a data folder that cannot be used say so, and make none', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'videogen-doctor-data-'));
    const file = join(folder, 'file');
    writeFileSync(file, '');
    for (const [data, problem] of [
      [file, `The data folder ${file} cannot be used (ENOTDIR)`],
      [join(file, 'data'), `The data folder ${join(file, 'data')} cannot be used (ENOTDIR)`],
      [join(folder, '100%'), `The data folder ${join(folder, '100%')} has ?, # or % in its path`],
    ] as const) {
      expect(await told({ VIDEOGEN_DATA: data })).toMatchObject({
        state: 'wrong',
        fix: expect.stringContaining(problem),
      });
      // A server that somebody else runs has its own.
      expect(await told({ VIDEOGEN_DATA: data, TEMPORAL_ADDRESS: '127.0.0.1:1' })).toMatchObject({
        state: 'ok',
      });
    }
    expect(await told({ VIDEOGEN_DATA: join(folder, 'new', 'data') })).toEqual(ok('all can be read'));
    expect(readdirSync(folder)).toEqual(['file']);
    rmSync(folder, { recursive: true });
  });

  it('that are wrong are each told in one line', async () => {
    const finding = await told({
      VIDEO_API_BASE_URL: 'nonsense',
      VIDEOGEN_TASK_QUEUE: '',
      VIDEOGEN_ON_LOST_SUBMIT: 'retry',
      VIDEOGEN_SUBMITS_PER_SECOND: '-1',
      VIDEOGEN_STORAGE: 'gs://bucket',
      VIDEOGEN_S3_PATH_STYLE: 'maybe',
      VIDEOGEN_S3_CONDITIONAL_PUTS: 'maybe',
      VIDEOGEN_KEY_TEMPLATE: '../{ext}',
      VIDEOGEN_LARGEST_VIDEO: 'large',
      VIDEOGEN_SIDECAR: 'maybe',
      VIDEOGEN_DOWNLOAD_ALLOW: 'http://host/path',
      TEMPORAL_TLS: 'yes',
    });
    expect(finding).toMatchObject({ state: 'wrong', found: '13 of them are wrong' });
    const lines = 'fix' in finding ? finding.fix.split('\n') : [];
    expect(lines.map((line) => line.split(' ')[0]).sort()).toEqual([
      'TEMPORAL_TLS',
      'VIDEOGEN_DOWNLOAD_ALLOW',
      'VIDEOGEN_KEY_TEMPLATE',
      'VIDEOGEN_LARGEST_VIDEO',
      'VIDEOGEN_ON_LOST_SUBMIT',
      'VIDEOGEN_S3_CONDITIONAL_PUTS',
      'VIDEOGEN_S3_PATH_STYLE',
      'VIDEOGEN_SIDECAR',
      'VIDEOGEN_STORAGE',
      'VIDEOGEN_SUBMITS_PER_SECOND',
      'VIDEOGEN_TASK_QUEUE',
      'VIDEO_API_BASE_URL',
      'VIDEO_API_KEY',
    ]);
  });

  it('need no key as long as no service is named', async () => {
    expect(await told({})).toEqual(ok('all can be read'));
  });
});

describe('workers', () => {
  const now = Date.parse('2026-01-01T00:10:00Z');
  const asked = (secondsAgo: number, identity = 'a') => [{ identity, lastAskedMs: now - secondsAgo * 1_000 }];
  const all = { queue: 'q', workflows: asked(3), activities: asked(3), submits: asked(3) };

  it('that ask for everything are ok, and counted by name', () => {
    expect(judgePollers(all, now)).toEqual(ok('one on q, asked for work 3 s ago'));
    const two = { ...all, workflows: [...asked(3), ...asked(5, 'b')] };
    expect(judgePollers(two, now)).toEqual(ok('2 on q, asked for work 3 s ago'));
  });

  it('that are not there are told with the command that starts one', () => {
    const none = { queue: 'q', workflows: [], activities: [], submits: [] };
    expect(judgePollers(none, now)).toEqual(
      wrong(
        'no worker asks for the workflows of q, the activities of q, the submits of q-submit',
        'Start one with: videogen worker',
      ),
    );
    expect(judgePollers({ ...all, activities: [] }, now)).toMatchObject({ state: 'wrong' });
  });

  it('that do not submit may be waiting out a rate limit', () => {
    expect(judgePollers({ ...all, submits: [] }, now)).toMatchObject({
      state: 'wrong',
      found: 'no worker asks for the submits of q-submit',
      fix: expect.stringContaining('rate limit'),
    });
  });

  it('of downloads are asked for where those have a queue of their own', () => {
    const served = { ...all, downloads: { queue: 'd', pollers: asked(3) } };
    expect(judgePollers(served, now)).toMatchObject({ state: 'ok' });
    const unserved = { ...all, downloads: { queue: 'd', pollers: [] } };
    expect(judgePollers(unserved, now)).toEqual(
      wrong('no worker asks for the downloads of d', 'Start one with: videogen worker --only downloads'),
    );
    expect(judgePollers({ ...unserved, activities: [] }, now)).toEqual(
      wrong('no worker asks for the activities of q, the downloads of d', 'Start one with: videogen worker'),
    );
    expect(judgePollers({ ...unserved, submits: [] }, now)).toMatchObject({
      found: 'no worker asks for the submits of q-submit, the downloads of d',
    });
  });

  it('that were last heard of minutes ago may have been killed', () => {
    expect(judgePollers({ ...all, workflows: asked(200) }, now)).toMatchObject({
      state: 'warning',
      found: 'one on q, asked for work 3 min ago',
    });
  });
});

test.each([
  ['20.18.1', true],
  ['20.18.0', false],
  ['20.9.9', false],
  ['22.0.0', true],
  ['18.20.4', false],
])('Node %s is new enough: %s', (version, enough) => {
  expect(isAtLeast(version, '20.18.1')).toBe(enough);
});

test('less than a GiB of free space is a warning', () => {
  expect(judgeSpace('/videos', 2 ** 30)).toMatchObject({ state: 'ok' });
  expect(judgeSpace('/videos', 2 ** 30 - 1)).toMatchObject({ state: 'warning' });
});

test('keys are hidden wherever they turn up', () => {
  const hide = secretHider({
    VIDEO_API_KEY: 'sk-video',
    TEMPORAL_API_KEY: 'sk-temporal',
    AWS_ACCESS_KEY_ID: 'id',
    AWS_SECRET_ACCESS_KEY: 'aws-secret',
    AWS_SESSION_TOKEN: 'aws-token',
  });
  expect(hide(ok('aws-secret with aws-token of id'))).toEqual(ok('… with … of id'));
  expect(hide(wrong('sk-video and sk-temporal', 'not sk-temporal'))).toEqual(wrong('… and …', 'not …'));
  expect(hide(ok('sk-video'))).toEqual(ok('…'));
});

describe('lines', () => {
  it('are not wrapped in a pipe, and the fix stands below what was found', () => {
    const long = 'x '.repeat(100).trim();
    expect(findingLines('key', wrong(long, 'First.\nSecond.'), undefined)).toEqual([
      `wrong    key        ${long}`,
      '                    First.',
      '                    Second.',
    ]);
  });

  it('fit the screen, words whole', () => {
    const lines = findingLines(
      'namespace',
      warning('word '.repeat(40).trim(), 'fix '.repeat(40).trim()),
      100,
    );
    expect(lines.length).toBeGreaterThan(4);
    for (const line of lines) expect(line.length).toBeLessThan(100);
    expect(lines.join(' ').match(/\b(word|fix)\b/g)).toHaveLength(80);
  });

  it('end with a sentence that says whether a job can be done', () => {
    const nothing = wrong('', '');
    expect(summaryLine([ok(''), ok('')])).toBe('Ready to generate.');
    expect(summaryLine([ok(''), warning('', '')])).toBe('Ready to generate, with 1 to watch.');
    expect(summaryLine([ok(''), nothing])).toBe('Not ready: 1 of 2 checks failed.');
    expect(summaryLine([nothing, skipped('')])).toBe('Not ready: 1 of 2 checks failed, 1 was skipped.');
  });
});
