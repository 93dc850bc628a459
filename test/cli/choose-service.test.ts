import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chooseService } from '../../src/cli/read-input';
import { run } from '../../src/cli/run';
import { FakeTerminal } from './fake-terminal';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'videogen-choose-service-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

function envWith(more: object = {}, settings: Record<string, string> = {}) {
  const file = join(folder, 'services.json');
  const key = { env: 'MAIN_KEY' };
  const services = {
    fal: { baseUrl: 'https://fal.example.com', key, profile: { requestFields: ['loop'] } },
    kling: { baseUrl: 'https://kling.example.com', key, profile: { states: { failed: ['broken'] } } },
  };
  writeFileSync(file, JSON.stringify({ services, ...more }));
  return { VIDEOGEN_SERVICES_FILE: file, VIDEOGEN_DATA: folder, ...settings };
}

test('a command names its service, or gets the default of the file, with its request fields', () => {
  expect(chooseService('fal', envWith())).toMatchObject({
    choice: { service: 'fal' },
    requestFields: ['loop'],
  });
  expect(chooseService(undefined, envWith({ default: 'kling' })).choice.service).toBe('kling');
});

test('with a Temporal elsewhere, the workers know a service that this machine does not list', () => {
  const elsewhere = { TEMPORAL_ADDRESS: '127.0.0.1:7233' };
  expect(chooseService('any', elsewhere).choice).toEqual({ service: 'any' });
  expect(chooseService(undefined, envWith({}, elsewhere)).choice).toEqual({});
});

test('a command that names a service which the file does not have is refused before anything starts', async () => {
  const terminal = new FakeTerminal(envWith());
  expect(await run(['generate', 'A red fox', '--service', 'fall'], terminal)).toBe(2);
  expect(terminal.stderr).toContain('name one of fal, kling');
});

test('explain reads an answer with the profile of a service', async () => {
  const file = join(folder, 'answer.json');
  writeFileSync(
    file,
    JSON.stringify({ call: 'poll', status: 200, body: { task_id: 't', status: 'broken' } }),
  );
  const explained = async (args: string[]) => {
    const terminal = new FakeTerminal(envWith());
    await run(['explain', file, ...args], terminal);
    return `${terminal.stdout}${terminal.stderr}`;
  };
  expect(await explained(['--service', 'kling'])).toMatch(/state +failed/);
  expect(await explained(['--service', 'fal'])).not.toMatch(/state +failed/);
});
