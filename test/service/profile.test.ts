import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import Ajv2020 from 'ajv/dist/2020';
import type { VideoRequest } from '../../src/contract/request';
import {
  BUILT_IN_PROFILES,
  builtInProfile,
  mapRequest,
  parseProfile,
  type ServiceProfile,
} from '../../src/service';
import { profileJsonSchema } from '../../src/service/profile';

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
    charged: 'usage.cost',
  },
  states: { queued: ['P0'], running: ['P1', 2], succeeded: ['P9'], failed: ['PX'], cancelled: [-1] },
  refusals: { limited: [{ status: 400, says: 'busy' }, { status: 503 }], codes: { E1: 401 }, failed: [422] },
  video: { id: 'file_id', path: '/files/{fileId}', link: 'link' },
  cancel: { method: 'PUT', path: '/tasks/{taskId}/cancel' },
  polling: { min: '10s', max: 60_000, usually: { median: '30s', slow: 30_000 } },
  prices: {
    currency: 'USD',
    table: [{ operation: 'text-to-video', resolution: '720p', perSecond: 0.1 }, { perVideo: 0.3 }],
    defaults: { duration: 5, resolution: '720p' },
  },
} satisfies ServiceProfile;

const validate = new Ajv2020({ strict: false }).compile(profileJsonSchema());

it('a profile is built in if there is a file of its name', () => {
  const files = readdirSync(join(__dirname, '../../src/service/profiles'));
  expect(files.sort()).toEqual(BUILT_IN_PROFILES.map((name) => `${name}.yaml`).sort());
  expect(builtInProfile('nobody')).toBeUndefined();
});

it.each<[string, unknown]>([
  ['nothing at all', {}],
  ['everything', WHOLE],
  ['a path of the video', { video: { path: '/v1/videos/{taskId}/content' } }],
  [
    'a path of tasks for each operation',
    { paths: { task: { textToVideo: '/t/{taskId}', imageToVideo: '/i/{taskId}' } } },
  ],
  ['ids with slashes in its paths', { paths: { task: '/v1beta/{+taskId}' } }],
  ['header values of Latin-1', { headers: { a: '', b: 'v1', c: 'a\tb', d: 'café' } }],
  ...['a.b', 'a b', '[a', 'a]'].map((name): [string, unknown] => [
    `the field ${name}, which is one key`,
    {
      requestFields: [name],
      request: { fields: { prompt: { to: 'a.b' }, seed: { to: 'c' }, duration: { to: 'b' } } },
    },
  ]),
  ...BUILT_IN_PROFILES.map((name): [string, unknown] => [name, builtInProfile(name)]),
])('a profile may have %s, and its JSON Schema agrees', (_what, profile) => {
  expect(parseProfile(profile)).toEqual({ ok: true, profile });
  expect(validate(profile)).toBe(true);
});

const problemOf = (given: unknown) => {
  const parsed = parseProfile(given);
  if (parsed.ok) throw new Error(`accepted: ${JSON.stringify(given)}`);
  expect(parsed.problem).not.toContain('undefined');
  return parsed.problem;
};
const ONE_PRICE = { currency: 'USD', table: [{ perVideo: 1 }] };

it.each<[unknown, string]>([
  [null, 'the profile must be an object with name, paths, '],
  [{ read: { taskID: 'x' } }, 'read.taskID is not known'],
  [
    { read: { taskId: 'a..b' } },
    'read.taskId must be a path of keys, with [] after the key of a list, such as "data.videos[].url"',
  ],
  [{ read: { video: ['a', 5] } }, 'read.video.1 must be a path of keys'],
  [{ paths: { task: '/tasks' } }, 'paths.task must be a path that begins with / and contains {taskId}'],
  [{ paths: { task: { textToVideo: '/t/{taskId}' } } }, 'paths.task.imageToVideo'],
  [{ auth: { scheme: 'Two words' } }, 'auth.scheme must be a word, or "" for the key alone'],
  [{ headers: { 'a b': 'x' } }, 'headers'],
  [{ states: { running: 'x' } }, 'states.running must be a list, such as ["DONE",3]'],
  [{ cancel: { method: 'GET', path: '/x/{taskId}' } }, 'cancel.method must be one of POST, PUT, DELETE'],
  [
    { video: { id: 'f', path: '/f', link: 'l' } },
    'video.path must be a path that begins with / and contains {fileId}',
  ],
  [{ polling: { min: 'soon' } }, 'polling.min must be milliseconds or a length of time, such as "5s"'],
  [
    { polling: { usually: { median: '5m', slow: '1m' } } },
    'polling.usually must have a median that is not longer than slow',
  ],
  [{ refusals: { content: [{ stage: 'prompt' }] } }, 'refusals.content.0 must have codes, states or says'],
  [
    { refusals: { taskMayExist: [500], noTask: [500, 502] } },
    'refusals must not have the same status in taskMayExist and noTask',
  ],
  [{ prices: { currency: 'USD', table: [{}] } }, 'prices.table.0 must have perSecond or perVideo'],
  [
    { prices: { ...ONE_PRICE, table: [{ perVideo: -1 }] } },
    'prices.table.0.perVideo must be a number from 0',
  ],
  ...[0, 1e10].map((duration): [unknown, string] => [
    { prices: { ...ONE_PRICE, defaults: { duration } } },
    'prices.defaults.duration must be a number above 0 and at most 86400, such as 5',
  ]),
  [{ read: { charged: 'usage.cost' } }, 'read.charged needs a currency'],
  [
    { read: { charged: { amount: 'cost', currency: 'USD', divideBy: 0 } } },
    'read.charged.divideBy must be a number above 0',
  ],
  ...['a\nb', '\u0000', '\u007f', 'naïve €', '狐'].map((value): [unknown, string] => [
    { headers: { 'X-Version': value } },
    'headers.X-Version must be text that a header can have: Latin-1 without control characters, such as "2026-11-15"',
  ]),
  // undici sends no request that names one of them.
  ...['Content-Length', 'transfer-encoding', 'EXPECT', 'Host', 'Connection', 'Keep-Alive', 'Upgrade'].flatMap(
    (name): [unknown, string][] => {
      const problem = 'must not be a header that the connection sets itself';
      return [
        [{ headers: { [name]: 'x' } }, `headers.${name} ${problem}`],
        [{ auth: { header: name } }, `auth.header ${problem}`],
        [{ idempotencyHeader: name }, `idempotencyHeader ${problem}`],
      ];
    },
  ),
])('the profile %j is refused with the path of the problem', (given, problem) => {
  expect(problemOf(given)).toContain(problem);
});

it.each<[request: object, problem: string]>([
  [
    { fields: { style: {} } },
    'request names style, which is not a field of a request: add it to requestFields, or correct it',
  ],
  [{ textToVideo: { fields: { promt: {} } } }, 'request names promt'],
  [{ fields: { seed: { too: 'x' } } }, 'request.fields.seed.too is not known'],
  [
    { fields: { seed: { to: 'a b' } } },
    'request.fields.seed.to must be a path of keys, with [0] after the key of a list, such as "content[0].text"',
  ],
  [{ constants: { a: { b: 1 } } }, 'request.constants.a'],
  [{ fields: { seed: { as: 'text' } } }, 'request.fields.seed.as must contain {value}'],
  [
    { fields: { seed: { as: '{value}', values: { 1: 1 } } } },
    'request.fields.seed must have values or as, not both',
  ],
  ...[{ default: 1 }, { values: { 1: 1 } }, { as: '{value}' }].map((more): [object, string] => [
    { fields: { seed: { to: null, ...more } } },
    'request.fields.seed must have nothing but to: null',
  ]),
  [{ textToVideo: { fields: { prompt: { to: 'seed' } } } }, 'request sends two values to seed'],
  [
    { fields: { prompt: { to: 'a' }, seed: { to: 'a.b' } } },
    'request sends two values to a.b, one of them seed',
  ],
  [
    { constants: { model: 'x' }, fields: { seed: { to: 'model' } } },
    'request sends two values to model, one of them seed',
  ],
  [
    { within: 'input', constants: { 'input.seed': 1 } },
    'request sends two values to input.seed, one of them seed',
  ],
  [
    { fields: { resolution: { with: ['aspect_ratio'], values: { a: 1 } }, aspect_ratio: { to: 'x' } } },
    'request names aspect_ratio twice, under its own name and in with',
  ],
])('a profile with the request %j is refused: %s', (request, problem) => {
  expect(problemOf({ request })).toContain(problem);
});

it('a profile with several problems is refused with all of them, and with the first of very many', () => {
  expect(problemOf({ read: { taskID: 'x' }, paths: { task: '/tasks' } })).toBe(
    'paths.task must be a path that begins with / and contains {taskId}, such as "/v1/videos/{taskId}"; read.taskID is not known, there can be within, taskId, state, progress, video, code, message, charged',
  );
  const keys = Object.fromEntries(Array.from({ length: 20_000 }, (_, at) => [`key${at}`, 1]));
  expect(problemOf(keys)).toMatch(/^key0 and key1 and .{1,300}$/);
  expect(problemOf({ ['k'.repeat(100_000)]: 1 }).length).toBeLessThan(1_000);
});

it('a profile is refused in a moment for a path that is too long, and for one of very many fields', () => {
  const long = `/${'{taskId}'.repeat(20_000)} `;
  expect(problemOf({ paths: { task: long } })).toBe('paths.task must have at most 2000 characters');
  const requestFields = Array.from({ length: 100_000 }, (_, at) => `field${at}`);
  expect(parseProfile({ requestFields, request: { within: 'input' } })).toMatchObject({ ok: true });
  const request = { within: 'input', constants: { 'input.field9': 1 } };
  expect(problemOf({ requestFields, request })).toContain(
    'request sends two values to input.field9, one of them field9',
  );
});

it('the shipped JSON Schema equals the code: npm run schema writes it', () => {
  const shipped = JSON.parse(readFileSync(join(__dirname, '../../profile.schema.json'), 'utf8'));
  expect(shipped).toEqual(JSON.parse(JSON.stringify(profileJsonSchema())));
});

const FOX: VideoRequest = { prompt: 'A red fox' };
const IMAGE = 'https://example.com/fox.png';

/** The body for a request, with a profile as a file has it. */
function bodyOf(request: ServiceProfile['request'], given: object, requestFields?: string[]): unknown {
  const mapped = mapRequest(checked({ request, requestFields }), given as VideoRequest);
  if (!mapped.ok) throw new Error(mapped.problem);
  return JSON.parse(JSON.stringify(mapped.body));
}

function checked(given: unknown): ServiceProfile {
  const parsed = parseProfile(JSON.parse(JSON.stringify(given)));
  if (!parsed.ok) throw new Error(parsed.problem);
  return parsed.profile;
}

const mappingProblemOf = (request: ServiceProfile['request'], given: VideoRequest, name?: string) => {
  const mapped = mapRequest(checked({ name, request }), given);
  return mapped.ok ? undefined : [mapped.field, mapped.problem];
};

describe('a field', () => {
  it('that is missing gets the default of the service’s own words, and another is left out', () => {
    const fields = { duration: { values: { 5: '5s' }, default: '9s' }, seed: { to: 'no' } };
    expect(bodyOf({ fields }, FOX)).toEqual({ prompt: 'A red fox', duration: '9s' });
    expect(bodyOf({ fields }, { ...FOX, duration: 5 })).toEqual({ prompt: 'A red fox', duration: '5s' });
  });

  it('can go into one value with another, whether a request has both, one or none of them', () => {
    const fields = {
      resolution: {
        to: 'size',
        with: ['aspect_ratio'],
        values: { '720p 9:16': '720x1280', '9:16': '720x1280', '720p': '1280x720' },
      },
    };
    const size = (given: Partial<VideoRequest>) =>
      Reflect.get(Object(bodyOf({ fields }, { ...FOX, ...given })), 'size');
    expect(size({ resolution: '720p', aspect_ratio: '9:16' })).toBe('720x1280');
    expect(size({ aspect_ratio: '9:16' })).toBe('720x1280');
    expect(size({ resolution: '720p' })).toBe('1280x720');
    expect(size({})).toBeUndefined();
    expect(
      mappingProblemOf({ fields }, { ...FOX, resolution: '720p', aspect_ratio: '1:1' }, 'Foxes'),
    ).toEqual([
      'resolution',
      'resolution and aspect_ratio must be one of 720p 9:16, 9:16, 720p for Foxes (was "720p 1:1")',
    ]);
  });
});

describe('a request is refused, and nothing is sent,', () => {
  it('if a value has no row, with the values that there are', () => {
    const fields = { resolution: { values: { '480p': 'sd', '720p': 'hd' } } };
    expect(mappingProblemOf({ fields }, { ...FOX, resolution: '1080p' }, 'Foxes')).toEqual([
      'resolution',
      'resolution must be one of 480p, 720p for Foxes (was "1080p")',
    ]);
  });

  it.each(['constructor', '__proto__', 'toString'])('if the value is %s, which every object has', (value) => {
    const fields = { prompt: { values: { fox: 'Fox' } } };
    expect(mappingProblemOf({ fields }, { prompt: value })?.[1]).toContain('prompt must be one of fox');
  });

  it('if the service does not take the field', () => {
    expect(mappingProblemOf({ fields: { seed: { to: null } } }, { ...FOX, seed: 0 })).toEqual([
      'seed',
      'seed is not taken by the service: leave it out',
    ]);
    expect(bodyOf({ fields: { seed: { to: null } } }, FOX)).toEqual(FOX);
  });
});

it('constants are sent with every request, and each operation can have its own', () => {
  const request = {
    constants: { 'content[0].type': 'text', 'extra.audio': false },
    fields: { prompt: { to: 'content[0].text' }, seed: { to: 'no' } },
    imageToVideo: {
      constants: { 'content[1].type': 'image_url', 'extra.audio': true },
      fields: { image_url: { to: 'content[1].image_url.url' }, seed: { to: null } },
    },
  };
  expect(bodyOf(request, { ...FOX, seed: 7 })).toEqual({
    content: [{ type: 'text', text: 'A red fox' }],
    extra: { audio: false },
    no: 7,
  });
  expect(bodyOf(request, { ...FOX, image_url: IMAGE })).toEqual({
    content: [
      { type: 'text', text: 'A red fox' },
      { type: 'image_url', image_url: { url: IMAGE } },
    ],
    extra: { audio: true },
  });
  expect(mappingProblemOf(request, { ...FOX, image_url: IMAGE, seed: 7 })?.[0]).toBe('seed');
});

it('a field of the profile with a hostile name changes nothing else', () => {
  const given = JSON.parse('{"prompt":"A red fox","__proto__":{"polluted":1},"a.b":2}');
  const mapped = mapRequest({ requestFields: ['__proto__', 'a.b'], request: { within: 'input' } }, given);
  expect(JSON.stringify(mapped.ok && mapped.body)).toBe(
    '{"input":{"prompt":"A red fox","__proto__":{"polluted":1},"a.b":2}}',
  );
  expect(Reflect.get({}, 'polluted')).toBeUndefined();
});
