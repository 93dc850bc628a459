import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Check, failed, ok, skipped, warning } from '../../src/cli/doctor/check';
import { checkSettings } from '../../src/cli/doctor/check-settings';
import { judgeSpace } from '../../src/cli/doctor/check-storage';
import { isAtLeast } from '../../src/cli/doctor/check-versions';
import { judgePollers } from '../../src/cli/doctor/check-workers';
import { CHECKS } from '../../src/cli/doctor/checks';
import { createContext } from '../../src/cli/doctor/context';
import { findingLines, summaryLine } from '../../src/cli/doctor/finding-lines';
import { CHECK_LIMIT_MS } from '../../src/cli/doctor/limits';
import { findingRedactor } from '../../src/cli/doctor/report';
import { runChecks } from '../../src/cli/doctor/run-checks';
import type { Environment } from '../../src/config/read-setting';

const context = createContext({});

async function findingsOf(checks: Check[], limitMs?: number) {
  const started = runChecks(checks, context, limitMs);
  return Promise.all(started.map(async ({ name, finding }) => [name, await finding]));
}

describe('checks', () => {
  it('each come after those that they need', () => {
    const names = CHECKS.map(({ name }) => name);
    for (const [index, { needs = [] }] of CHECKS.entries()) {
      for (const need of needs) expect(names.slice(0, index)).toContain(need);
    }
    expect(new Set(names).size).toBe(names.length);
  });

  it('take at most 15 s in all', () => {
    const depths = new Map<string, number>();
    for (const { name, needs = [] } of CHECKS) {
      depths.set(name, 1 + Math.max(0, ...needs.map((need) => depths.get(need) ?? 0)));
    }
    expect(Math.max(...depths.values()) * CHECK_LIMIT_MS).toBeLessThanOrEqual(15_000);
  });

  it('run at once, and one that throws reports its error', async () => {
    // Each ends only after all three have started.
    let toStart = 3;
    let allStarted = () => {};
    const together = new Promise<void>((resolve) => {
      allStarted = resolve;
    });
    const waiting = (name: Check['name']): Check => ({
      name,
      async run() {
        toStart -= 1;
        if (toStart === 0) allStarted();
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
      [
        'storage',
        expect.objectContaining({ state: 'failed', found: 'could not be checked (the disk is gone)' }),
      ],
    ]);
  });

  it('that do not finish time out, and those that need them are skipped', async () => {
    let aborted = false;
    const neverEnding: Check = {
      name: 'temporal',
      run: (_context, signal) => {
        signal.addEventListener('abort', () => {
          aborted = true;
        });
        return new Promise(() => undefined);
      },
    };
    const dependent: Check = { name: 'namespace', needs: ['temporal'], run: async () => ok('never') };
    const indirect: Check = { name: 'workers', needs: ['namespace'], run: async () => ok('never') };
    expect(await findingsOf([neverEnding, dependent, indirect], 50)).toEqual([
      ['temporal', expect.objectContaining({ state: 'failed', found: 'did not finish within 0.05 s' })],
      ['namespace', skipped('it needs temporal')],
      ['workers', skipped('it needs namespace')],
    ]);
    expect(aborted).toBe(true);
  });

  it('run after a warning too', async () => {
    const warned: Check = { name: 'service', run: async () => warning('slow', 'Wait.') };
    const dependent: Check = { name: 'key', needs: ['service'], run: async () => ok('accepted') };
    expect(await findingsOf([warned, dependent])).toMatchObject([
      ['service', {}],
      ['key', ok('accepted')],
    ]);
  });
});

describe('settings', () => {
  const check = (env: Environment) => checkSettings.run(createContext(env), AbortSignal.abort());

  it.each([
    ['VIDEOGEN_STORGE', 'VIDEOGEN_STORAGE'],
    ['VIDEOGEN_TASKQUEUE', 'VIDEOGEN_TASK_QUEUE'],
    ['VIDEOGEN_SUBMIT_PER_SECOND', 'VIDEOGEN_SUBMITS_PER_SECOND'],
    ['VIDEO_API_URL', 'VIDEO_API_BASE_URL'],
    ['VIDEOGEN_BASE_URL', 'VIDEO_API_BASE_URL'],
    ['VIDEOGEN_API_KEY', 'VIDEO_API_KEY'],
    ['VIDEOGEN_QUEUE', 'VIDEOGEN_TASK_QUEUE'],
    ['TEMPORAL_ADRESS', 'TEMPORAL_ADDRESS'],
  ])('misspelt as %s are reported with the right name, and without their value', async (name, meant) => {
    expect(await check({ [name]: 'sk-secret' })).toEqual({
      state: 'failed',
      found: 'one is invalid',
      fix: `${name} is not a setting: did you mean ${meant}?`,
    });
  });

  it('that are unknown are a warning, because another program may use them', async () => {
    const finding = await check({ VIDEOGEN_COLOUR: 'red', VIDEOGEN_: 'x', TEMPORAL_CODEC_ENDPOINT: 'x' });
    expect(finding).toMatchObject({
      state: 'warning',
      found: 'all are valid; not used: VIDEOGEN_COLOUR, VIDEOGEN_',
    });
  });

  it('that are blank count as unset, even with an unknown name', async () => {
    const blank = { VIDEOGEN_STORGE: ' ', VIDEO_API_KEY: '' };
    expect(await check(blank)).toEqual(ok('all are valid'));
  });

  it.each(['VIDEO_API_KEY', 'VIDEO_API_KEY_FILE'])('with %s and no address are invalid', async (name) => {
    const file = join(__dirname, '../../secrets/emulator-api-key');
    expect(await check({ [name]: name === 'VIDEO_API_KEY' ? 'sk-secret' : file })).toEqual({
      state: 'failed',
      found: 'one is invalid',
      fix: `${name} is set, but VIDEO_API_BASE_URL is not: set it to the address of the video service, such as https://api.example.com, or unset ${name} to use the emulator.`,
    });
  });

  it('with an unusable data folder are invalid, and no folder is created', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'videogen-doctor-data-'));
    const file = join(folder, 'file');
    writeFileSync(file, '');
    for (const [data, problem] of [
      [file, `The data folder ${file} cannot be used (ENOTDIR)`],
      [join(file, 'data'), `The data folder ${join(file, 'data')} cannot be used (ENOTDIR)`],
      [join(folder, '100%'), `The data folder ${join(folder, '100%')} has ?, # or % in its path`],
    ] as const) {
      expect(await check({ VIDEOGEN_DATA: data })).toMatchObject({
        state: 'failed',
        fix: expect.stringContaining(problem),
      });
      // A remote server does not use the data folder.
      expect(await check({ VIDEOGEN_DATA: data, TEMPORAL_ADDRESS: '127.0.0.1:1' })).toMatchObject({
        state: 'ok',
      });
    }
    expect(await check({ VIDEOGEN_DATA: join(folder, 'new', 'data') })).toEqual(ok('all are valid'));
    expect(readdirSync(folder)).toEqual(['file']);
    rmSync(folder, { recursive: true });
  });

  it('that are invalid are reported in one line each', async () => {
    const finding = await check({
      VIDEO_API_BASE_URL: 'nonsense',
      VIDEOGEN_TASK_QUEUE: '',
      VIDEOGEN_ON_LOST_SUBMIT: 'retry',
      VIDEOGEN_SUBMITS_PER_SECOND: '-1',
      VIDEOGEN_STORAGE: 'gs://bucket',
      VIDEOGEN_S3_PATH_STYLE: 'maybe',
      VIDEOGEN_KEY_TEMPLATE: '../{ext}',
      VIDEOGEN_LARGEST_VIDEO: 'large',
      VIDEOGEN_DOWNLOAD_ALLOW: 'http://host/path',
      TEMPORAL_TLS: 'yes',
    });
    expect(finding).toMatchObject({ state: 'failed', found: '11 are invalid' });
    const lines = 'fix' in finding ? finding.fix.split('\n') : [];
    expect(lines.map((line) => line.split(' ')[0]).sort()).toEqual([
      'TEMPORAL_TLS',
      'VIDEOGEN_DOWNLOAD_ALLOW',
      'VIDEOGEN_KEY_TEMPLATE',
      'VIDEOGEN_LARGEST_VIDEO',
      'VIDEOGEN_ON_LOST_SUBMIT',
      'VIDEOGEN_S3_PATH_STYLE',
      'VIDEOGEN_STORAGE',
      'VIDEOGEN_SUBMITS_PER_SECOND',
      'VIDEOGEN_TASK_QUEUE',
      'VIDEO_API_BASE_URL',
      'VIDEO_API_KEY',
    ]);
  });

  it('need no key if no service is configured', async () => {
    expect(await check({})).toEqual(ok('all are valid'));
  });
});

describe('workers', () => {
  const now = Date.parse('2026-01-01T00:10:00Z');
  const polled = (secondsAgo: number, identity = 'a') => [
    { identity, lastPolledMs: now - secondsAgo * 1_000 },
  ];
  const all = { queue: 'q', workflows: polled(3), activities: polled(3), submits: polled(3) };

  it('that poll for everything are ok, and counted by identity', () => {
    expect(judgePollers(all, now)).toEqual(ok('one on q, last polled 3 s ago'));
    const two = { ...all, workflows: [...polled(3), ...polled(5, 'b')] };
    expect(judgePollers(two, now)).toEqual(ok('2 on q, last polled 3 s ago'));
  });

  it('that are missing are reported with the command that starts one', () => {
    const none = { queue: 'q', workflows: [], activities: [], submits: [] };
    expect(judgePollers(none, now)).toEqual(
      failed(
        'no worker polls for the workflows of q, the activities of q, the submits of q-submit',
        'Start one with: videogen worker',
      ),
    );
    expect(judgePollers({ ...all, activities: [] }, now)).toMatchObject({ state: 'failed' });
  });

  it('that do not poll for submits may have the plugin, or wait for a rate limit: a warning', () => {
    const finding = judgePollers({ ...all, submits: [] }, now);
    expect(finding).toEqual(
      warning('no worker polls for the submits of q-submit', expect.stringContaining('rate limit')),
    );
    expect(finding).toMatchObject({
      fix: expect.stringContaining(
        'A worker with the plugin serves the jobs of its own client and of child workflows; jobs of videogen generate would wait.',
      ),
    });
  });

  it('for downloads are required if downloads have a queue of their own', () => {
    const served = { ...all, downloads: { queue: 'd', pollers: polled(3) } };
    expect(judgePollers(served, now)).toMatchObject({ state: 'ok' });
    const unserved = { ...all, downloads: { queue: 'd', pollers: [] } };
    expect(judgePollers(unserved, now)).toEqual(
      failed('no worker polls for the downloads of d', 'Start one with: videogen worker --only downloads'),
    );
    expect(judgePollers({ ...unserved, activities: [] }, now)).toEqual(
      failed(
        'no worker polls for the activities of q, the downloads of d',
        'Start one with: videogen worker',
      ),
    );
    expect(judgePollers({ ...unserved, submits: [] }, now)).toMatchObject({
      found: 'no worker polls for the submits of q-submit, the downloads of d',
    });
  });

  it('that last polled minutes ago may have been killed', () => {
    expect(judgePollers({ ...all, workflows: polled(200) }, now)).toMatchObject({
      state: 'warning',
      found: 'one on q, last polled 3 min ago',
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

test('configured keys are redacted in every finding', () => {
  const redact = findingRedactor({
    VIDEO_API_KEY: 'sk-video',
    TEMPORAL_API_KEY: 'sk-temporal',
    AWS_ACCESS_KEY_ID: 'id',
    AWS_SECRET_ACCESS_KEY: 'aws-secret',
    AWS_SESSION_TOKEN: 'aws-token',
  });
  expect(redact(ok('aws-secret with aws-token of id'))).toEqual(ok('… with … of id'));
  expect(redact(failed('sk-video and sk-temporal', 'not sk-temporal'))).toEqual(failed('… and …', 'not …'));
  expect(redact(ok('sk-video'))).toEqual(ok('…'));
  const paths = 'https://api.example.com/v2/0123456789abcdef0123 and /srv/k-temporal';
  expect(redact(ok(paths))).toEqual(ok(paths));
});

describe('lines', () => {
  it('are not wrapped in a pipe, and the fix is below what was found', () => {
    const long = 'x '.repeat(100).trim();
    expect(findingLines('key', failed(long, 'First.\nSecond.'), undefined)).toEqual([
      `failed   key        ${long}`,
      '                    First.',
      '                    Second.',
    ]);
  });

  it('fit the screen without breaking words', () => {
    const lines = findingLines(
      'namespace',
      warning('word '.repeat(40).trim(), 'fix '.repeat(40).trim()),
      100,
    );
    expect(lines.length).toBeGreaterThan(4);
    for (const line of lines) expect(line.length).toBeLessThan(100);
    expect(lines.join(' ').match(/\b(word|fix)\b/g)).toHaveLength(80);
  });

  it('end with a sentence that says whether everything is ready', () => {
    const failure = failed('', '');
    expect(summaryLine([ok(''), ok('')])).toBe('Ready to generate.');
    expect(summaryLine([ok(''), warning('', '')])).toBe('Ready to generate, with 1 warning.');
    expect(summaryLine([warning('', ''), warning('', '')])).toBe('Ready to generate, with 2 warnings.');
    expect(summaryLine([ok(''), failure])).toBe('Not ready: 1 of 2 checks failed.');
    expect(summaryLine([failure, skipped('')])).toBe('Not ready: 1 of 2 checks failed, 1 was skipped.');
  });
});
