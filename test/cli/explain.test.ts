import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { run } from '../../src/cli/run';
import { parseProfile, readingRules, recordAnswers, traceAnswer } from '../../src/service';
import { commandsOf, readPage, sectionOf } from '../support/docs-page';
import { FakeTerminal } from './fake-terminal';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'videogen-explain-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const TICKET = '{"ticket":{"no":7,"phase":"P9"},"deliverable":{"href":"https://cdn.example.com/a.mp4"}}';

async function videogen(...args: string[]) {
  const terminal = new FakeTerminal();
  const code = await run(['explain', ...args], terminal);
  return { code, out: terminal.stdout, err: terminal.stderr };
}

function save(text: string, name = 'answer.json'): string {
  const file = join(folder, name);
  writeFileSync(file, text);
  return file;
}

it('prints what the page about other services shows', async () => {
  const [answer, shown] = commandsOf(readPage('other-services.md'));
  expect(shown?.command).toBe('npx videogen explain answer.json');
  const { out } = await videogen(save(answer?.output.join('\n') ?? ''));
  expect(out.trimEnd().split('\n')).toEqual(shown?.output);
});

it('prints that content was refused, as the page about failures shows it, only with the profile that it shows', async () => {
  const page = sectionOf(readPage('failures.md'), 'What counts as refused');
  const [answer, profile, within] = commandsOf(page);
  const file = save(answer?.output.join('\n') ?? '');
  const withoutProfile = within?.output.filter((line) => !line.startsWith('  refused '));
  expect((await videogen(file)).out.trimEnd().split('\n')).toEqual(withoutProfile);
  const env = { VIDEOGEN_PROFILE: save(profile?.output.join('\n') ?? '', 'profile.yaml') };
  const terminal = new FakeTerminal(env);
  await run(['explain', file], terminal);
  expect(within?.command).toBe('VIDEOGEN_PROFILE=profile.yaml videogen explain answer.json');
  expect(terminal.stdout.trimEnd().split('\n')).toEqual(within?.output);
});

it('proposes a profile for an answer that it cannot read, and the profile reads it', async () => {
  const { code, out, err } = await videogen(save(TICKET));
  expect([code, err]).toEqual([0, '']);
  expect(out).toBe(`answer.json: HTTP 200
  task id: nothing found
  state: nothing found
  video: nothing found

Save this as profile.yaml and set VIDEOGEN_PROFILE=profile.yaml:

read:
  video: deliverable.href
  taskId: ticket.no
  state: ticket.phase
# The task id is read from the answer to the submit: leave taskId out if none of these is one.

With it:

answer.json: HTTP 200
  task id   7  at ticket.no
  state     succeeded, in its words "P9"  at ticket.phase
  video     https://cdn.example.com/a.mp4  at deliverable.href
`);
  const yaml = out.split('profile.yaml:\n')[1]?.split('With it:')[0] ?? '';
  const parsed = parseProfile(parse(yaml));
  if (!parsed.ok) throw new Error(parsed.problem);
  expect(traceAnswer({ status: 200, body: TICKET }, readingRules(parsed.profile))).toMatchObject({
    taskId: '7',
    task: { state: 'succeeded', videoUrl: 'https://cdn.example.com/a.mp4' },
  });
});

it('says where each value was found, without the signature of a link, and reports doubts', async () => {
  const body = {
    task_id: 'a',
    data: {
      task_id: 'b',
      status: 'completed',
      video_url: 'https://x.example/1.mp4?sign=abc',
      error: { code: 5 },
    },
  };
  const { out } = await videogen(save(JSON.stringify(body)));
  expect(out).toBe(`answer.json: HTTP 200
  task id   a  at task_id
  state     succeeded, in its words "completed"  at data.status
  video     https://x.example/1.mp4?…  at data.video_url
  code      5  at data.error.code
  doubt: task_id is a and data.task_id is b
  doubt: data.status says completed, and there is an error at data.error

Everything was understood.
`);
});

it.each([
  ['{"task_id":"a","status":"brewing"}', '200', '  state     unknown, in its words "brewing"  at status\n'],
  [
    '{"status":"brewed","url":"https://x/1"}',
    '200',
    '  state     succeeded, in its words "brewed"  at status\n',
  ],
  ['{"id":"a","status":"running","progress":0.5}', '200', '  progress  50 %  at progress\n'],
  ['', '202', '  state     running, without a word for it\n'],
  [
    '<html>',
    '200',
    '  the body is not a JSON object or list: if it is a web page, check VIDEO_API_BASE_URL\n',
  ],
  ['<html>', '503', '  error: nothing found\n'],
  ['{"detail":"No credit"}', '402', '  message   No credit  at detail\n'],
  ['{"id":"a","status":"P3"}', '200', 'What does "P3" mean? Put it under queued, '],
  ['{}', '200', 'No profile can be guessed from this.\n'],
  [String.raw`{"id":"\u001b[31mred"}`, '200', '  task id: red is not valid: it must be text of at most 1000'],
])('%s with HTTP %s: %s', async (body, status, line) => {
  const { code, out } = await videogen(save(body), '--status', status);
  expect(code).toBe(0);
  expect(out).toContain(line);
});

it('reads the folder that a worker recorded', async () => {
  const record = recordAnswers(folder);
  const recorded = { headers: {} };
  record({ ...recorded, call: 'submit', status: 200, body: '{"ticket":{"no":7}}' });
  record({ ...recorded, call: 'poll', status: 200, body: TICKET });
  const { code, out } = await videogen(folder);
  expect(code).toBe(0);
  const [today = '', later = ''] = out.split('Save this as profile.yaml');
  expect(today).toMatch(/: submit, HTTP 200\n(.*\n)*? {2}task id: nothing found\n/);
  expect(today).toMatch(/: poll, HTTP 200\n(.*\n)*? {2}state: nothing found\n {2}video: nothing found\n/);
  const [profile = ''] = /^read:(.|\n)*?(?=\n\n)/m.exec(later) ?? [];
  expect(parse(profile)).toEqual({
    read: { video: 'deliverable.href', taskId: 'ticket.no', state: 'ticket.phase' },
  });
});

it.each<[string[], RegExp]>([
  [['none.json'], /^none\.json cannot be read \(ENOENT\): give a file with an answer, [^\n]*\.\n$/],
  [
    ['/dev/zero'],
    /^\/dev\/zero cannot be read \(not a regular file\): give a file with an answer, [^\n]*\.\n$/,
  ],
  [['test/cli'], /^There are no answers in test\/cli\.\n$/],
  [['.', '--status', 'ok'], /^--status is "ok": give the HTTP status of the answer, such as 200\.\n$/],
])('%j is refused in one line', async (args, line) => {
  expect(await videogen(...args)).toEqual({ code: 2, out: '', err: expect.stringMatching(line) });
});

it('reads with the configured profile, or that of a service, and proposes a complete one', async () => {
  const profile = save('read: { taskId: ticket.no, state: ticket.phase }\n', 'mine.yaml');
  const terminal = new FakeTerminal({ VIDEOGEN_PROFILE: profile });
  expect(await run(['explain', save(TICKET)], terminal)).toBe(0);
  const [today = '', later = ''] = terminal.stdout.split('Save this as profile.yaml');
  expect(today).toMatch(/task id +7 {2}at ticket\.no\n/);
  const [proposed = ''] = /^read:(.|\n)*?(?=\n\n)/m.exec(later) ?? [];
  expect(parse(proposed)).toEqual({
    read: { taskId: 'ticket.no', state: 'ticket.phase', video: 'deliverable.href' },
  });

  const own = { baseUrl: 'https://kling.example.com', key: { env: 'K' }, profile: parse(proposed) };
  const services = save(JSON.stringify({ services: { kling: own } }), 'services.json');
  const named = new FakeTerminal({ VIDEOGEN_SERVICES_FILE: services });
  expect(await run(['explain', save(TICKET), '--service', 'kling'], named)).toBe(0);
  expect(named.stdout).toMatch(/video +https:\/\/cdn\.example\.com\/a\.mp4 {2}at deliverable\.href\n/);
});
