import { mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { readEncryptionKeys } from '../../src/config/operation-config';
import { openKeyFile } from '../../src/gateway/gateway-keys';
import { recordAnswers } from '../../src/service';
import { createFileStorage, type VideoStorage } from '../../src/storage';
import { commandsOf, readPage, sectionOf } from '../support/docs-page';
import { runHere } from './cli-here';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'videogen-offline-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

describe('explain', () => {
  const TICKET = '{"ticket":{"no":7,"phase":"P9"},"deliverable":{"href":"https://cdn.example.com/a.mp4"}}';

  const explain = (args: string[], env: Record<string, string> = {}) => runHere(['explain', ...args], env);

  function save(text: string, name = 'answer.json'): string {
    const file = join(folder, name);
    writeFileSync(file, text);
    return file;
  }

  /** The output before the proposed profile, and the profile. */
  function proposalIn(out: string): [today: string, profile: string] {
    const [today = '', later = ''] = out.split('Save this as profile.yaml');
    const [profile = ''] = /^read:(.|\n)*?(?=\n\n)/m.exec(later) ?? [];
    return [today, profile];
  }

  it('prints what the page about other services shows', async () => {
    const [answer, shown] = commandsOf(readPage('other-services.md'));
    expect(shown?.command).toBe('npx videogen explain answer.json');
    const { out } = await explain([save(answer?.output.join('\n') ?? '')]);
    expect(out.trimEnd().split('\n')).toEqual(shown?.output);
  });

  it('prints that content was refused, as the page about failures shows it, only with the profile that it shows', async () => {
    const page = sectionOf(readPage('failures.md'), 'What counts as refused');
    const [answer, profile, within] = commandsOf(page);
    const file = save(answer?.output.join('\n') ?? '');
    const withoutProfile = within?.output.filter((line) => !line.startsWith('  refused '));
    expect((await explain([file])).out.trimEnd().split('\n')).toEqual(withoutProfile);
    const VIDEOGEN_PROFILE = save(profile?.output.join('\n') ?? '', 'profile.yaml');
    expect(within?.command).toBe('VIDEOGEN_PROFILE=profile.yaml videogen explain answer.json');
    expect((await explain([file], { VIDEOGEN_PROFILE })).out.trimEnd().split('\n')).toEqual(within?.output);
  });

  it('says where each value was found, without the signature of a link, and reports doubts', async () => {
    const video_url = 'https://x.example/1.mp4?sign=abc';
    const data = { task_id: 'b', status: 'completed', video_url };
    const { out } = await explain([save(JSON.stringify({ task_id: 'a', data }))]);
    expect(out).toContain('\n  video     https://x.example/1.mp4?…  at data.video_url\n');
    expect(out).toContain('\n  doubt: task_id is a and data.task_id is b\n');
  });

  it('says what an answer is that has nothing in it, and hides control characters', async () => {
    const page = await explain([save('<html>')]);
    expect([page.code, page.out]).toEqual([
      0,
      expect.stringContaining('the body is not a JSON object or list'),
    ]);
    const hostile = await explain([save(String.raw`{"id":"\u001b[31mred"}`)]);
    expect(hostile.out).toContain('  task id: red is not valid: it must be text of at most 1000');
  });

  it('shows nothing of the key that an answer repeats which was saved by hand', async () => {
    const answer = save('{"error":"no account has the key sk-fox-7Kq2-Wm9"}');
    const { out } = await explain([answer, '--status', '401'], { VIDEO_API_KEY: 'sk-fox-7Kq2-Wm9' });
    expect(out).toContain('no account has the key');
    expect(out).not.toContain('7Kq2');
  });

  it('reads the folder that a worker recorded', async () => {
    const record = recordAnswers(folder);
    record({ headers: {}, call: 'submit', status: 200, body: '{"ticket":{"no":7}}' });
    record({ headers: {}, call: 'poll', status: 200, body: TICKET });
    const { code, out } = await explain([folder]);
    expect(code).toBe(0);
    const [today, profile] = proposalIn(out);
    expect(today).toMatch(/: submit, HTTP 200\n(.*\n)*? {2}task id: nothing found\n/);
    expect(today).toMatch(/: poll, HTTP 200\n(.*\n)*? {2}state: nothing found\n {2}video: nothing found\n/);
    expect(parse(profile)).toEqual({
      read: { video: 'deliverable.href', taskId: 'ticket.no', state: 'ticket.phase' },
    });
  });

  it.each<[string[], RegExp]>([
    [['none.json'], /^none\.json cannot be read \(ENOENT\): give a file with an answer, [^\n]*\.\n$/],
    [['/dev/zero'], /^\/dev\/zero cannot be read \(not a regular file\): give a file [^\n]*\.\n$/],
    [['.', '--status', 'ok'], /^--status is "ok": give the HTTP status of the answer, such as 200\.\n$/],
  ])('refuses %j in one line', async (args, line) => {
    expect(await explain(args)).toEqual({ code: 2, out: '', err: expect.stringMatching(line) });
  });

  it('reads with the profile of a service', async () => {
    const kling = {
      baseUrl: 'https://kling.example.com',
      key: { env: 'K' },
      profile: { read: { taskId: 'ticket.no' } },
    };
    const VIDEOGEN_SERVICES_FILE = save(JSON.stringify({ services: { kling } }), 'services.json');
    const { out } = await explain([save(TICKET), '--service', 'kling'], { VIDEOGEN_SERVICES_FILE });
    expect(out).toMatch(/^ {2}task id +7 {2}at ticket\.no$/m);
  });
});

describe('spend', () => {
  const AT = '2026-11-16T12:00:00.000Z';
  const NEXT_DAY = '2026-11-17T12:00:00.000Z';
  const usd = (amount: number) => ({ amount, currency: 'USD' });
  const COST = { estimated: usd(0.5) };

  let storage: VideoStorage;
  beforeEach(() => {
    storage = createFileStorage(folder);
  });

  let records = 0;
  /** Writes the entries of a new record; returns the key of the first. */
  async function write(...entries: (object | string)[]): Promise<string> {
    const folderOfRecord = `jobs/fox.${String(++records).padStart(16, '0')}`;
    for (const [index, content] of entries.entries()) {
      const key = `${folderOfRecord}/000${index + 1}.json`;
      const { at = AT }: { at?: string } = typeof content === 'string' ? {} : content;
      const follows = index === 0 ? {} : { follows: String(index) };
      const known = { id: String(index + 1), at, namespace: 'films', job: 'fox', ...follows };
      const text = typeof content === 'string' ? content : JSON.stringify({ ...known, ...content });
      await storage.write(key, text, 'application/json');
      utimesSync(join(folder, key), new Date(at), new Date(at));
    }
    return `${folderOfRecord}/0001.json`;
  }

  const sending = (more: object = {}) => ({ event: 'sending', request: {}, ...more });
  const refused = (send: string) => ({ event: 'refused', send, outcome: 'refused' });
  const task = (taskId: string, more: object = {}) => ({ event: 'task', send: '1', taskId, ...more });

  function spend(args: string[], isOutTerminal?: boolean) {
    const env = { VIDEOGEN_STORAGE: folder, TEMPORAL_NAMESPACE: 'films', HOME: folder };
    return runHere(['spend', '--since', '2026-11-16', ...args], env, isOutTerminal);
  }
  const spent = async () => JSON.parse((await spend(['--json'])).out);

  it('never mixes currencies in its sums, and counts each video once', async () => {
    await write(sending({ cost: COST }), task('t1', { cost: { charged: usd(0.45) } }));
    await write(sending({ cost: COST }), task('t2'));
    const credits = { amount: 12, currency: 'credits' };
    await write(sending({ at: NEXT_DAY, cost: { estimated: credits } }));
    await write(sending(), task('t3', { cost: { unknown: 'no duration' } }));
    // A second job that adopted a task of another one.
    await write(sending(), task('t1', { cost: COST }));
    const sums = { videos: 4, charged: [usd(0.45)], estimated: [usd(0.5), credits], unknown: 1 };
    expect(await spent()).toMatchObject(sums);
    const { out } = await spend([], true);
    expect(out).toMatch(/^total +4 +0\.45 USD +0\.50 USD \+ 12 credits +1$/m);
  });

  it('counts what the service charged instead of the estimate, also if that is nothing', async () => {
    const video = { uri: 'file:///fox.mp4', bytes: 1, sha256: 'x', contentType: 'video/mp4' };
    const cost = { charged: usd(0) };
    const stored = { event: 'stored', taskId: 't1', key: 'fox.mp4', video, warnings: [], cost };
    await write(sending({ cost: COST }), task('t1', { cost: COST }), stored);
    expect(await spent()).toMatchObject({ videos: 1, charged: [usd(0)], estimated: [], unknown: 0 });
  });

  it('does not count what was never paid for, is of another namespace or was submitted before', async () => {
    await write(sending(), refused('1'));
    await write({ ...sending(), namespace: 'other' }, { ...task('t1'), namespace: 'other' });
    await write(sending({ at: '2026-11-15T12:00:00Z' }), task('t2'));
    const damaged = await write('damaged long ago');
    const longAgo = new Date('2026-11-15T12:00:00Z');
    // Not even read: it was written last before the day.
    utimesSync(join(folder, damaged), longAgo, longAgo);
    await storage.write('jobs/learned-times.json', '{}', 'application/json');
    const { code, out, err } = await spend(['--json']);
    expect([code, err]).toEqual([0, '']);
    expect(JSON.parse(out)).toMatchObject({ videos: 0, charged: [], estimated: [], unknown: 0 });
  });

  const REPETITION = [sending({ cost: COST }), sending({ repeats: ['1'], cost: COST })];
  it.each<[string, object[], number]>([
    ['a lost submit and its repetition', [...REPETITION, task('t1', { send: '2' })], 2],
    ['a lost submit whose repetition was refused', [...REPETITION, refused('2')], 1],
  ])('counts each send that may have been paid for: %s', async (_what, entries, videos) => {
    await write(...entries);
    expect(await spent()).toMatchObject({ videos, estimated: [usd(0.5 * videos)] });
  });

  it('names damaged records and skips them, but fails for a storage that cannot be read', async () => {
    const keys = [
      await write('{"event":'),
      await write({ event: 'paid' }),
      await write('x'.repeat(2_000_000)),
    ];
    await write(sending(), task('t1', { cost: { charged: { amount: -5, currency: 'USD' } } }));
    const { code, out, err } = await spend(['--json']);
    expect([code, JSON.parse(out)]).toMatchObject([0, { videos: 1, unknown: 1 }]);
    const skipped = keys.map((key) => `${key} is damaged and was skipped.`);
    expect(err.trimEnd().split('\n').sort()).toEqual(skipped);

    rmSync(join(folder, 'jobs'), { recursive: true });
    symlinkSync('jobs', join(folder, 'jobs'));
    expect((await spend(['--json'])).code).not.toBe(0);
  });

  it('refuses a --since that is no time, with the fix', async () => {
    const { code, err } = await spend(['--since', '2026-13-45']);
    expect([code, err]).toEqual([2, expect.stringMatching(/^--since is ".*": give .+\.\n$/)]);
  });
});

/** The permissions of a file. */
const modeOf = (file: string) => (statSync(file).mode & 0o777).toString(8);

describe('gateway-key', () => {
  async function gatewayKey(...args: string[]) {
    const VIDEOGEN_GATEWAY_KEYS_FILE = join(folder, 'keys');
    const { code, out, err } = await runHere(['gateway-key', ...args], { VIDEOGEN_GATEWAY_KEYS_FILE });
    return { code, out: out.trim(), err };
  }

  it('prints a key that opens the gateway, and writes its digest into a private file', async () => {
    const file = join(folder, 'keys');
    const { code, out, err } = await gatewayKey('web_shop');
    expect([code, err]).toEqual([0, expect.stringContaining(`Added web_shop to ${file}.`)]);
    expect(openKeyFile(file, () => undefined).find(out)?.name).toBe('web_shop');
    expect(readFileSync(file, 'utf8')).not.toContain(out);
    expect(modeOf(file)).toBe('600');
  });

  it('makes another key for the same name, unless it is made only if missing', async () => {
    const file = join(folder, 'keys');
    const first = await gatewayKey('local', '--if-missing');
    const err = `local has a key in ${file} already.\n`;
    expect(await gatewayKey('local', '--if-missing')).toEqual({ code: 0, out: '', err });
    const second = await gatewayKey('local');
    const ring = openKeyFile(file, () => undefined);
    expect([first, second].map(({ out }) => ring.find(out)?.name)).toEqual(['local', 'local']);
  });

  it('refuses a name with a dash in one sentence', async () => {
    const err = expect.stringMatching(/^The name of a key must be /);
    expect(await gatewayKey('web-shop')).toEqual({ code: 2, out: '', err });
  });
});

describe('encryption-key', () => {
  let file: string;
  beforeEach(() => {
    file = join(folder, 'keys');
  });

  async function encryptionKey(...args: string[]) {
    const { code, out, err } = await runHere(['encryption-key', ...args]);
    return { code, out: out.trim(), err };
  }
  const ringInFile = () => readEncryptionKeys({ VIDEOGEN_ENCRYPTION_KEYS_FILE: file });

  it('prints a key that is a ring by itself, or puts it first in a private file and shows it nowhere else', async () => {
    const printed = await encryptionKey('2026-05');
    expect(printed.code).toBe(0);
    expect(readEncryptionKeys({ VIDEOGEN_ENCRYPTION_KEYS: printed.out })?.writingId).toBe('2026-05');
    await encryptionKey('2026-05', '--file', file);
    const err = `Put 2026-11 first in ${file}: it encrypts after a restart. The other keys still decrypt.\n`;
    expect(await encryptionKey('2026-11', '--file', file)).toEqual({ code: 0, out: '', err });
    const ring = ringInFile();
    expect([ring?.writingId, ring?.find('2026-05')]).toEqual(['2026-11', expect.anything()]);
    expect(modeOf(file)).toBe('600');
  });

  it('puts a key last for the first step of a rotation, and first for the second', async () => {
    await encryptionKey('2026-05', '--file', file);
    const { err } = await encryptionKey('2026-11', '--last', '--file', file);
    expect(err).toContain(`put it first with: videogen encryption-key 2026-11 --file ${file}\n`);
    const made = ringInFile();
    expect([made?.writingId, made?.secrets().length]).toEqual(['2026-05', 2]);
    await encryptionKey('2026-11', '--file', file);
    const moved = ringInFile();
    expect([moved?.writingId, moved?.secrets()]).toEqual(['2026-11', made?.secrets().reverse()]);
  });

  it('changes no file with a mistake in it, and no key of the same name', async () => {
    await encryptionKey('2026-11', '--file', file);
    const before = readFileSync(file, 'utf8');
    const again = await encryptionKey('2026-11', '--file', file);
    expect([again.code, again.err]).toEqual([2, `${file} has a key 2026-11 already: choose another name.\n`]);
    expect(readFileSync(file, 'utf8')).toBe(before);
    writeFileSync(file, 'something else');
    expect((await encryptionKey('2027-05', '--file', file)).err).toContain(': correct it first.\n');
    expect(readFileSync(file, 'utf8')).toBe('something else');
    expect((await encryptionKey('two words')).code).toBe(2);
  });
});
