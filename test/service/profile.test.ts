import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import Ajv2020 from 'ajv/dist/2020';
import { parse } from 'yaml';
import { BUILT_IN_PROFILES, builtInProfile } from '../../src/service/built-in-profiles';
import { parseProfile } from '../../src/service/parse-profile';
import { profileJsonSchema, type ServiceProfile } from '../../src/service/profile';
import { traceAnswer } from '../../src/service/read-answer';
import { readingRules } from '../../src/service/reading-rules';
import { blocksOf, readPage, sectionOf } from '../support/docs-page';

const WHOLE = {
  name: 'Everything',
  paths: { textToVideo: '/t2v', imageToVideo: '/i2v', task: '/tasks?id={taskId}' },
  auth: { header: 'X-Api-Key', scheme: '' },
  idempotencyHeader: null,
  headers: { 'X-Version': '2' },
  requestFields: ['model'],
  request: {
    within: 'input',
    fields: {
      model: { to: 'model', default: 'm1' },
      duration: { as: '{value}s' },
      resolution: { to: 'size', with: ['aspect_ratio'], values: { '720p': '1280x720' } },
      seed: { to: null },
    },
    constants: { 'input.enhance': true },
    textToVideo: { constants: { 'input.kind': 'text' } },
    imageToVideo: { fields: { image_url: { to: 'images[0].url' } } },
  },
  read: {
    within: ['ticket'],
    taskId: 'ticket.no',
    state: ['ticket.phase'],
    progress: 'pct',
    video: 'files[].href',
    code: 'e.c',
    message: 'e.m',
  },
  states: { queued: ['P0'], running: ['P1', 2], succeeded: ['P9'], failed: ['PX'], cancelled: [-1] },
  refusals: { limited: [{ status: 400, says: 'busy' }, { status: 503 }], codes: { E1: 401 }, failed: [422] },
  video: { id: 'file_id', path: '/files/{fileId}', link: 'link' },
  cancel: { method: 'PUT', path: '/tasks/{taskId}/cancel' },
  polling: { min: '10s', max: 60_000 },
} satisfies ServiceProfile;

const validate = new Ajv2020({ strict: false }).compile(profileJsonSchema());

describe('a profile', () => {
  it('is built in if there is a file of its name', () => {
    const files = readdirSync(join(__dirname, '../../src/service/profiles'));
    expect(files.sort()).toEqual(BUILT_IN_PROFILES.map((name) => `${name}.yaml`).sort());
    expect(builtInProfile('nobody')).toBeUndefined();
  });

  it.each<[string, unknown]>([
    ['nothing at all', {}],
    ['everything', WHOLE],
    ['a path of the video', { video: { path: '/v1/videos/{taskId}/content' } }],
    ['where its schema is', { $schema: './profile.schema.json' }],
    [
      'a path of tasks for each operation',
      { paths: { task: { textToVideo: '/t/{taskId}', imageToVideo: '/i/{taskId}' } } },
    ],
    ['how long tasks usually take', { polling: { usually: { median: '30s', slow: '2m' } } }],
    ['tasks that all take the same time', { polling: { usually: { median: '30s', slow: 30_000 } } }],
    ['ids with slashes in its paths', { paths: { task: '/v1beta/{+taskId}' } }],
    ...BUILT_IN_PROFILES.map((name): [string, unknown] => [name, builtInProfile(name)]),
  ])('may have %s, and its JSON Schema agrees', (_what, profile) => {
    expect(parseProfile(profile)).toEqual({ ok: true, profile });
    expect(validate(profile)).toBe(true);
  });

  it.each<[unknown, string]>([
    [
      { refusals: { taskMayExist: [500], noTask: [500, 502] } },
      'refusals must not have the same status in taskMayExist and noTask',
    ],
    [null, 'the profile must be an object with name, paths, '],
    ['openai', 'the profile must be an object with name, paths, '],
    [{ path: {} }, 'path is not known'],
    [{ read: { taskID: 'x' } }, 'read.taskID is not known'],
    [
      { read: { taskId: 'a..b' } },
      'read.taskId must be a path of keys, with [] after the key of a list, such as "data.videos[].url"',
    ],
    [{ read: { video: [] } }, 'read.video'],
    [{ read: { video: ['a', 5] } }, 'read.video.1 must be a path of keys'],
    [{ paths: { task: '/tasks' } }, 'paths.task must be a path that begins with / and contains {taskId}'],
    [
      { paths: { textToVideo: 'https://elsewhere.example.com/x' } },
      'paths.textToVideo must be a path that begins with /',
    ],
    [{ auth: { scheme: 'Two words' } }, 'auth.scheme must be a word, or "" for the key alone'],
    [{ auth: { header: 'a b' } }, 'auth.header must be the name of a header'],
    [{ idempotencyHeader: '' }, 'idempotencyHeader must be the name of a header'],
    [{ states: { ready: ['x'] } }, 'states.ready is not known'],
    [{ states: { running: 'x' } }, 'states.running must be a list, such as ["DONE",3]'],
    [{ cancel: { method: 'GET', path: '/x/{taskId}' } }, 'cancel.method must be one of POST, PUT, DELETE'],
    [
      { cancel: { method: 'DELETE', path: '/x' } },
      'cancel.path must be a path that begins with / and contains {taskId}',
    ],
    [{ video: { path: '/x' } }, 'video.path must be a path that begins with / and contains {taskId}'],
    [
      { video: { id: 'f', path: '/f', link: 'l' } },
      'video.path must be a path that begins with / and contains {fileId}',
    ],
    [{ polling: { min: 'soon' } }, 'polling.min must be milliseconds or a length of time, such as "5s"'],
    [{ headers: { 'a b': 'x' } }, 'headers'],
    [{ paths: { task: { textToVideo: '/t/{taskId}' } } }, 'paths.task.imageToVideo'],
    [{ refusals: { content: [{ stage: 'prompt' }] } }, 'refusals.content.0 must have codes, states or says'],
    [
      { polling: { usually: { median: '5m', slow: '1m' } } },
      'polling.usually must have a median that is not longer than slow',
    ],
  ])('%j is refused with the path of the problem', (given, problem) => {
    const parsed = parseProfile(given);
    expect(parsed).toMatchObject({ ok: false });
    expect(!parsed.ok && parsed.problem).toContain(problem);
    expect(!parsed.ok && parsed.problem).not.toContain('undefined');
  });

  it('with several problems is refused with all of them', () => {
    const parsed = parseProfile({ read: { taskID: 'x' }, paths: { task: '/tasks' } });
    expect(!parsed.ok && parsed.problem).toBe(
      'paths.task must be a path that begins with / and contains {taskId}, such as "/v1/videos/{taskId}"; read.taskID is not known, there can be within, taskId, state, progress, video, code, message, charged',
    );
  });
});

it('the profile that the page about other services shows is one', () => {
  const section = sectionOf(readPage('other-services.md'), 'Requests');
  const shown = blocksOf(section, 'yaml').map((text) => parseProfile(parse(text)));
  expect(shown).toEqual([{ ok: true, profile: expect.objectContaining({ request: expect.anything() }) }]);
});

it('the shipped JSON Schema equals the code: npm run schema writes it', () => {
  const shipped = JSON.parse(readFileSync(join(__dirname, '../../profile.schema.json'), 'utf8'));
  expect(shipped).toEqual(JSON.parse(JSON.stringify(profileJsonSchema())));
});

describe('answers read with a profile', () => {
  const trace = (body: unknown, profile: ServiceProfile = WHOLE) =>
    traceAnswer({ status: 200, body: JSON.stringify(body) }, readingRules(profile));

  it('are read at its paths', () => {
    const reading = trace({
      ticket: { no: 7, phase: 'p-9' },
      pct: 0.5,
      files: [{ href: 'https://cdn.example.com/a.mp4' }],
      e: { c: 'c1', m: 'm1' },
    });
    expect(reading).toMatchObject({
      taskId: '7',
      task: { state: 'succeeded', word: 'p-9', videoUrl: 'https://cdn.example.com/a.mp4' },
      serviceMessage: { code: 'c1', message: 'm1' },
      found: {
        taskId: 'ticket.no',
        state: 'ticket.phase',
        video: 'files[0].href',
        code: 'e.c',
        message: 'e.m',
      },
    });
  });

  it.each<[unknown, string]>([
    ['P0', 'queued'],
    ['P1', 'running'],
    [2, 'running'],
    ['2', 'running'],
    ['PX', 'failed'],
    [-1, 'cancelled'],
    ['succeeded', 'succeeded'],
    [3, 'unknown'],
  ])('%j means %s', (phase, state) => {
    expect(trace({ ticket: { phase } }).task.state).toBe(state);
  });

  it('are not read at the default paths', () => {
    expect(
      trace({ task_id: 'x', status: 'running', video_url: 'https://cdn.example.com/a.mp4' }),
    ).toMatchObject({
      taskId: undefined,
      task: { state: 'unknown' },
    });
  });

  it('may give a default word another meaning', () => {
    const profile = { states: { running: ['ready'] } };
    expect(trace({ status: 'ready' }, profile).task.state).toBe('running');
  });
});

describe('a profile that would make every call fail is refused', () => {
  const problemOf = (given: unknown) => {
    const parsed = parseProfile(given);
    return parsed.ok ? undefined : parsed.problem;
  };

  it.each(['a\nb', 'a\r', '\u0000', '\u007f', 'naïve €', '狐'])('for the header value %j', (value) => {
    expect(problemOf({ headers: { 'X-Version': value } })).toBe(
      'headers.X-Version must be text that a header can have: Latin-1 without control characters, such as "2026-11-15"',
    );
  });

  it.each(['', 'v1', 'a\tb', 'café'])('but not for the header value %j', (value) => {
    expect(problemOf({ headers: { 'X-Version': value } })).toBeUndefined();
  });

  it.each(['Content-Length', 'transfer-encoding', 'EXPECT', 'Host', 'Connection', 'Keep-Alive', 'Upgrade'])(
    'for the header %s, which the connection itself sets',
    (name) => {
      const problem = 'must not be a header that the connection sets itself';
      expect(problemOf({ headers: { [name]: 'x' } })).toBe(`headers.${name} ${problem}`);
      expect(problemOf({ auth: { header: name } })).toBe(`auth.header ${problem}`);
      expect(problemOf({ idempotencyHeader: name })).toBe(`idempotencyHeader ${problem}`);
    },
  );

  it('for a path that is too long, without matching all of it', () => {
    const long = `/${'{taskId}'.repeat(20_000)} `;
    expect(problemOf({ paths: { task: long } })).toBe('paths.task must have at most 2000 characters');
    expect(problemOf({ paths: { textToVideo: long } })).toBe(
      'paths.textToVideo must have at most 2000 characters',
    );
  });

  it('for many problems, of which the first are listed', () => {
    const keys = Object.fromEntries(Array.from({ length: 20_000 }, (_, at) => [`key${at}`, 1]));
    const problem = problemOf(keys);
    expect(problem).toMatch(/^key0 and key1 and .{1,300}$/);
    expect(problemOf({ ['k'.repeat(100_000)]: 1 })?.length).toBeLessThan(1_000);
  });
});
