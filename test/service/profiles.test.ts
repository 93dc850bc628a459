import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import Ajv2020 from 'ajv/dist/2020';
import type { VideoRequest } from '../../src/contract/request';
import {
  type AnswerSample,
  BUILT_IN_PROFILES,
  builtInProfile,
  estimateCost,
  estimateJob,
  mapRequest,
  type Prices,
  parseProfile,
  proposeProfile,
  readingRules,
  type ServiceProfile,
  traceAnswer,
} from '../../src/service';
import { profileJsonSchema } from '../../src/service/profile';
import { PROVIDERS, VIDEO } from './provider-answers';

const WHOLE = {
  name: 'Everything',
  paths: { textToVideo: '/t2v', imageToVideo: '/i2v', task: '/tasks?id={taskId}' },
  auth: { header: 'X-Api-Key', scheme: '' },
  idempotencyHeader: null,
  headers: { 'X-Version': '2', 'X-Empty': '', 'X-Latin': 'a\tcafé' },
  requestFields: ['model', 'a.b'],
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

const problemOf = (given: unknown) => {
  const parsed = parseProfile(given);
  if (parsed.ok) throw new Error(`accepted: ${JSON.stringify(given)}`);
  expect(parsed.problem).not.toContain('undefined');
  return parsed.problem;
};

describe('a profile', () => {
  const validate = new Ajv2020({ strict: false }).compile(profileJsonSchema());

  it('is built in if there is a file of its name', () => {
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
    ['a constant for the image of a text', { request: { textToVideo: { constants: { image_url: '' } } } }],
    [
      'a field with a dot in its name, which is one key',
      { requestFields: ['a.b'], request: { fields: { prompt: { to: 'a.b' } } } },
    ],
    ...BUILT_IN_PROFILES.map((name): [string, unknown] => [name, builtInProfile(name)]),
  ])('may have %s, and its JSON Schema agrees', (_what, profile) => {
    expect(parseProfile(profile)).toEqual({ ok: true, profile });
    expect(validate(profile)).toBe(true);
  });

  const ONE_PRICE = { currency: 'USD', table: [{ perVideo: 1 }] };

  it.each<[unknown, string]>([
    [null, 'the profile must be an object with name, paths, '],
    [{ read: { taskID: 'x' } }, 'read.taskID is not known'],
    [{ read: { taskId: 'a..b' } }, 'read.taskId must be a path of keys, with [] after the key of a list'],
    [{ paths: { task: '/tasks' } }, 'paths.task must be a path that begins with / and contains {taskId}'],
    [{ paths: { task: { textToVideo: '/t/{taskId}' } } }, 'paths.task.imageToVideo'],
    [{ headers: { 'X-Version': 'a\nb' } }, 'headers.X-Version must be text that a header can have'],
    [{ headers: { 'X-Version': '狐' } }, 'headers.X-Version must be text that a header can have'],
    // undici sends no request that names one of them.
    [{ headers: { 'Content-Length': 'x' } }, 'headers.Content-Length must not be a header'],
    [{ auth: { header: 'transfer-encoding' } }, 'auth.header must not be a header'],
    [{ video: { id: 'f', path: '/f', link: 'l' } }, 'begins with / and contains {fileId}'],
    [{ polling: { usually: { median: '5m', slow: '1m' } } }, 'polling.usually must have a median'],
    [{ refusals: { content: [{ stage: 'prompt' }] } }, 'refusals.content.0 must have codes, states or says'],
    [{ refusals: { taskMayExist: [500], noTask: [500, 502] } }, 'refusals must not have the same status'],
    [{ prices: { currency: 'USD', table: [{}] } }, 'prices.table.0 must have perSecond or perVideo'],
    [{ prices: { ...ONE_PRICE, defaults: { duration: 1e10 } } }, 'a number above 0 and at most 86400'],
    [{ read: { charged: 'usage.cost' } }, 'read.charged needs a currency'],
  ])('such as %j is refused with the path of the problem', (given, problem) => {
    expect(problemOf(given)).toContain(problem);
  });

  const SIZE = { with: ['aspect_ratio'], values: { a: 1 } };
  it.each<[request: object, problem: string]>([
    [{ fields: { style: {} } }, 'names style, which is not a field'],
    [{ fields: { seed: { as: 'text' } } }, 'fields.seed.as must contain {value}'],
    [{ fields: { seed: { as: '{value}', values: { 1: 1 } } } }, 'fields.seed must have values or as'],
    [{ fields: { seed: { to: null, default: 1 } } }, 'fields.seed must have nothing but to: null'],
    [{ fields: { prompt: { to: 'a' }, seed: { to: 'a.b' } } }, 'two values to a.b, one of them seed'],
    [{ fields: { prompt: { to: 'a.b' }, seed: { to: 'a' } } }, 'two values to a, one of them seed'],
    [{ fields: { prompt: { to: 'a[0]' }, seed: { to: 'a.b' } } }, 'two values to a.b, one of them seed'],
    [{ within: 'in', constants: { 'in.seed': 1 } }, 'two values to in.seed, one of them seed'],
    [{ imageToVideo: { constants: { image_url: '' } } }, 'two values to image_url, one of them image_url'],
    [{ fields: { resolution: SIZE, aspect_ratio: { to: 'x' } } }, 'names aspect_ratio twice'],
  ])('with the request %j is refused: %s', (request, problem) => {
    expect(problemOf({ request })).toContain(problem);
  });

  it.each([
    ...['requestFields', 'headers', 'refusals.limited', 'refusals.taskMayExist', 'refusals.noTask'],
    ...['refusals.failed', 'refusals.content', 'states.queued'],
  ])('may have the example that its problem with %s gives', (path) => {
    const withValue = (value: unknown) =>
      path.split('.').reduceRight((inner, key) => ({ [key]: inner }), value as object);
    const [, example = ''] = /, such as (.*)$/.exec(problemOf(withValue(5))) ?? [];
    expect(example).not.toMatch(/^(\[\]|\{\})$/);
    expect(parseProfile(withValue(JSON.parse(example)))).toMatchObject({ ok: true });
  });

  it('with several problems is refused with all of them, and with the first of very many', () => {
    expect(problemOf({ read: { taskID: 'x' }, paths: { task: '/tasks' } })).toBe(
      'paths.task must be a path that begins with / and contains {taskId}, such as "/v1/videos/{taskId}"; read.taskID is not known, there can be within, taskId, state, progress, video, code, message, charged',
    );
    const keys = Object.fromEntries(Array.from({ length: 20_000 }, (_, at) => [`key${at}`, 1]));
    expect(problemOf(keys)).toMatch(/^key0 and key1 and .{1,300}$/);
    expect(problemOf({ ['k'.repeat(100_000)]: 1 }).length).toBeLessThan(1_000);
  });

  it('is refused in a moment for a path that is too long, and for one of very many fields', () => {
    const long = `/${'{taskId}'.repeat(20_000)} `;
    expect(problemOf({ paths: { task: long } })).toBe('paths.task must have at most 2000 characters');
    const requestFields = Array.from({ length: 50_000 }, (_, at) => `field${at}`);
    const request = { within: 'input', constants: { 'input.field9': 1 } };
    expect(problemOf({ requestFields, request })).toContain(
      'request sends two values to input.field9, one of them field9',
    );
  });

  it('has a shipped JSON Schema that equals the code: npm run schema writes it', () => {
    const shipped = JSON.parse(readFileSync(join(__dirname, '../../profile.schema.json'), 'utf8'));
    expect(shipped).toEqual(JSON.parse(JSON.stringify(profileJsonSchema())));
  });
});

const FOX: VideoRequest = { prompt: 'A red fox' };
const IMAGE = 'https://example.com/fox.png';

describe('a request at a service with a profile', () => {
  function checked(given: unknown): ServiceProfile {
    const parsed = parseProfile(JSON.parse(JSON.stringify(given)));
    if (!parsed.ok) throw new Error(parsed.problem);
    return parsed.profile;
  }

  /** The body for a request, with a profile as a file has it. */
  function bodyOf(request: ServiceProfile['request'], given: object): unknown {
    const mapped = mapRequest(checked({ request }), given as VideoRequest);
    if (!mapped.ok) throw new Error(mapped.problem);
    return JSON.parse(JSON.stringify(mapped.body));
  }

  const refusalOf = (request: ServiceProfile['request'], given: VideoRequest, name?: string) => {
    const mapped = mapRequest(checked({ name, request }), given);
    return mapped.ok ? undefined : [mapped.field, mapped.problem];
  };

  it('gets the default for a missing field, in the service’s own words, and leaves out another', () => {
    const duration = { values: { 5: '5s' }, default: '9s' };
    const fields = { duration, seed: { to: 'no' }, resolution: { as: '{value} or {value}' } };
    expect(bodyOf({ fields }, { ...FOX, duration: undefined })).toEqual({ ...FOX, duration: '9s' });
    expect(bodyOf({ fields }, { ...FOX, duration: 5, resolution: '$&' })).toEqual({
      prompt: 'A red fox',
      duration: '5s',
      resolution: '$& or $&',
    });
    const given = { ...FOX, resolution: ['720p'] as never };
    expect(refusalOf({ fields }, given)?.[1]).toBe('resolution must be a text or a number for the service');
  });

  it('can have two fields in one value, whether it has both, one or none of them', () => {
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
    expect(refusalOf({ fields }, { ...FOX, resolution: '720p', aspect_ratio: '1:1' }, 'Foxes')).toEqual([
      'resolution',
      'resolution and aspect_ratio must be one of 720p 9:16, 9:16, 720p for Foxes (was "720p 1:1")',
    ]);
  });

  it('is refused if a value has no row, also if every object has such a key', () => {
    const fields = { resolution: { values: { '480p': 'sd', '720p': 'hd' } } };
    expect(refusalOf({ fields }, { ...FOX, resolution: '1080p' }, 'Foxes')).toEqual([
      'resolution',
      'resolution must be one of 480p, 720p for Foxes (was "1080p")',
    ]);
    const words = { prompt: { values: { fox: 'Fox' } } };
    for (const prompt of ['constructor', '__proto__'])
      expect(refusalOf({ fields: words }, { prompt })?.[1]).toContain('prompt must be one of fox');
  });

  it('is sent with constants, and each operation can have its own, and can take fewer fields', () => {
    const request = {
      // Entries that got no value are left out.
      constants: { 'content[0].type': 'text', 'extra.audio': false, 'extra.list[12]': 1 },
      fields: { prompt: { to: 'content[0].text' }, seed: { to: 'no' } },
      imageToVideo: {
        constants: { 'content[1].type': 'image_url', 'extra.audio': true },
        fields: { image_url: { to: 'content[1].image_url.url' }, seed: { to: null } },
      },
    };
    expect(bodyOf(request, { ...FOX, seed: 7 })).toEqual({
      content: [{ type: 'text', text: 'A red fox' }],
      extra: { audio: false, list: [1] },
      no: 7,
    });
    expect(bodyOf(request, { ...FOX, image_url: IMAGE })).toEqual({
      content: [
        { type: 'text', text: 'A red fox' },
        { type: 'image_url', image_url: { url: IMAGE } },
      ],
      extra: { audio: true, list: [1] },
    });
    expect(refusalOf(request, { ...FOX, image_url: IMAGE, seed: 0 })).toEqual([
      'seed',
      'seed is not taken by the service: leave it out',
    ]);
  });

  it('is not changed elsewhere by a field with a hostile name', () => {
    const given = JSON.parse('{"prompt":"A red fox","__proto__":{"polluted":1},"a.b":2}');
    const mapped = mapRequest({ requestFields: ['__proto__', 'a.b'], request: { within: 'input' } }, given);
    expect(JSON.stringify(mapped.ok && mapped.body)).toBe(
      '{"input":{"prompt":"A red fox","__proto__":{"polluted":1},"a.b":2}}',
    );
    expect(Reflect.get({}, 'polluted')).toBeUndefined();
  });
});

describe('the prices of a profile', () => {
  const PRICES: Prices = {
    currency: 'USD',
    table: [
      { operation: 'text-to-video', resolution: '720p', perSecond: 0.1 },
      { operation: 'image-to-video', perSecond: 0.2, perVideo: 0.05 },
      { resolution: '480p', perVideo: 0.3 },
    ],
  };
  type PricedRequest = Parameters<typeof estimateCost>[1];
  const usd = (amount: number) => ({ amount, currency: 'USD' });

  const DEFAULTS = { ...PRICES, defaults: { duration: 8, resolution: '720p' } };
  const FREE = { currency: 'USD', table: [{ perVideo: 0 }] };

  it.each<[what: string, Prices | undefined, PricedRequest, cost: number | string, seconds?: number]>([
    ['by the second', PRICES, { resolution: '720p', duration: 5 }, 0.5, 5],
    ['by the first row that fits', PRICES, { image_url: IMAGE, duration: 4 }, 0.85, 4],
    ['by the video', PRICES, { resolution: '480p' }, 0.3],
    ['from the defaults', DEFAULTS, {}, 0.8, 8],
    ['from the request before the defaults', DEFAULTS, { duration: 2 }, 0.2, 2],
    ['zero', FREE, {}, 0],
    ['unknown without prices', undefined, { duration: 5 }, 'has no prices', 5],
    ['unknown without a row', PRICES, { resolution: '4k', duration: 5 }, 'text-to-video at "4k"', 5],
    ['unknown without a duration', PRICES, { resolution: '720p' }, 'the request has no duration'],
    ['unknown without a resolution', PRICES, { duration: 5 }, 'the request has no resolution', 5],
    ['unknown when the service chooses the duration', DEFAULTS, { duration: -1 }, 'a duration of -1'],
  ])('make the estimate %s', (...[_what, prices, request, cost, seconds]) => {
    const known = typeof cost === 'number' ? { estimated: usd(cost) } : {};
    const unknown = typeof cost === 'string' ? { unknown: expect.stringContaining(cost) } : {};
    expect(estimateCost(prices, request)).toEqual({ ...known, ...unknown, seconds });
  });

  it.each([
    ['its name on the worker', 'a', 'Ark', 'https://ark.example', 'a'],
    ['the name in its profile', undefined, 'Ark', 'https://ark.example', 'Ark'],
    ['its host', undefined, undefined, 'https://ark.example/v1', 'ark.example'],
    ['nothing, if its address is not a URL', undefined, undefined, 'here', undefined],
  ])('name the service of a job by %s', (_what, name, nameInProfile, address, paid) => {
    const service = { profile: { name: nameInProfile, prices: PRICES }, address };
    expect(estimateJob({ name, service }, { resolution: '480p' })).toEqual({
      estimated: usd(0.3),
      service: paid,
    });
  });
});

describe('a proposed profile', () => {
  /** A recorded answer with this body. */
  const sample = (body: unknown, call?: AnswerSample['call'], status = 200): AnswerSample => ({
    status,
    body: JSON.stringify(body),
    ...(call && { call }),
  });
  const submitted = (...bodies: object[]) => bodies.map((body) => sample(body, 'submit'));
  const polled = (...bodies: object[]) => bodies.map((body) => sample(body, 'poll'));
  const readOf = (answers: AnswerSample[]) => proposeProfile(answers).profile?.read;

  const TICKET = { ticket: { no: 7, phase: 'P9' }, deliverable: { href: 'https://cdn.example.com/a.mp4' } };
  const READ_TICKET = { taskId: 'ticket.no', state: 'ticket.phase', video: 'deliverable.href' };

  it('is made from all the answers of a service, with a question for each unclear word', () => {
    const { profile, notes } = proposeProfile([
      ...submitted({ ticket: { no: 7, phase: 'P1' } }),
      ...polled({ ticket: { no: 7, phase: 'P3', pct: 12 } }, TICKET, {
        ticket: { no: 8, phase: 'P8' },
        problem: { kind: 'nsfw', text: 'Not allowed' },
      }),
    ]);
    expect(profile).toEqual({
      read: { ...READ_TICKET, progress: 'ticket.pct', code: 'problem.kind', message: 'problem.text' },
    });
    expect(notes).toEqual(
      ['P1', 'P3', 'P8'].map(
        (word) =>
          `What does "${word}" mean? Put it under queued, running, succeeded, failed or cancelled, such as states: { running: ["${word}"] }.`,
      ),
    );
  });

  it.each<[what: string, answers: AnswerSample[], read: object]>([
    [
      'the default path too, when other answers use that',
      submitted({ task_id: 'a' }, { ticketNo: 'b' }),
      { taskId: ['task_id', 'ticketNo'] },
    ],
    [
      'paths in the order that changes no other answer',
      polled({ status: 'running', phase: 'P1' }, { phase: 'queued' }),
      { state: ['status', 'phase'] },
    ],
    [
      'the state of the task, where "ok" is that of the call',
      polled({ status: 'ok', phase: 'P3' }),
      { state: 'phase' },
    ],
    [
      'the code and the message of a refusal under other names',
      [sample({ note: { kind: 'E7', explanation: 'No credit left' } }, 'submit', 402)],
      { code: 'note.kind', message: 'note.explanation' },
    ],
  ])('has %s', (_what, answers, read) => {
    expect(readOf(answers)).toEqual(read);
  });

  it('is valid, in a bounded time, for the largest answer', () => {
    const wide = Object.fromEntries(Array.from({ length: 10_000 }, (_, at) => [`job_id_${at}`, `j${at}`]));
    const { profile, notes } = proposeProfile([sample({ ...wide, a: Array(1_000).fill(TICKET) })]);
    expect(parseProfile(profile)).toEqual({ ok: true, profile });
    expect(notes[0]).toMatch(/^The task id is read from the answer to the submit: leave taskId out if none/);
    expect(profile?.read?.taskId).toBe('job_id_0');
  });

  it.each(PROVIDERS.filter(({ name }) => name !== 'pixverse'))(
    'does not change how $name is read',
    ({ answers }) => {
      const rules = readingRules(proposeProfile(answers).profile ?? {});
      for (const answer of answers) {
        const { task, serviceMessage } = traceAnswer(answer);
        // What was not there before may be read now.
        const before: object = JSON.parse(JSON.stringify({ task, serviceMessage }));
        expect(traceAnswer(answer, rules)).toMatchObject(before);
      }
    },
  );

  it.each([
    [{ id: 'a', status: 'succeeded', video_url: VIDEO }],
    [[TICKET]],
    [{ id: 'a', status: 'running', note: { text: 'It runs' } }],
    [{ code: 17, info: { request_id: 'r' } }],
  ])('is not made for what is understood or has no path: %j', (body) => {
    expect(proposeProfile([sample(body)])).toEqual({ notes: [] });
  });

  it.each([
    [{ user: { id: 5 }, account_id: 'x', order: { reference: 'r' } }, 'order.reference'],
    [{ deep: { down: { job_ref: 'd' } }, top: { job_ref: 't' } }, 'top.job_ref'],
    [{ job: { zone: 'eu' }, ref: 'r' }, 'ref'],
    [{ task_ref: 'HTTPS://example.com/t', ref: 'r' }, 'ref'],
    [{ meta: JSON.stringify({ job: { ref: 'j' } }) }, 'meta.job.ref'],
  ])('finds the id in %j at %s', (body, taskId) => {
    expect(readOf(submitted(body))).toEqual({ taskId });
  });

  const findVideo = (body: object) => readOf(polled({ status: 'completed', ...body }));

  it('finds the video where its name or its file says so, or a link in an object', () => {
    expect(findVideo({ answer: { href: 'https://cdn.example.com/1' } })).toEqual({ video: 'answer.href' });
    expect(findVideo({ href: 'https://cdn.example.com/1' })).toBeUndefined();
    for (const type of 'png jpg jpeg webp gif svg json txt htm html srt vtt mp3 wav m4a pdf zip'.split(' '))
      for (const end of ['', '?a', '#a'])
        expect(findVideo({ clip: { url: `https://cdn.example.com/1.${type}${end}` } })).toBeUndefined();
    const clips = [{ cover: `${VIDEO}.png`, link: VIDEO }];
    expect(findVideo({ clips, page: 'https://example.com/x' })).toEqual({ video: 'clips[].link' });
  });

  it.each(
    (
      'cover thumb_url thumbnail poster preview_image preview watermark watermarkedVideo last_frame webhook_url ' +
      'callbackUrl polling_url status_url cancel_url self input source_video'
    ).split(' '),
  )('never finds the video at %s', (key) => {
    expect(findVideo({ [key]: VIDEO, inner: { [key]: { href: VIDEO } } })).toBeUndefined();
  });

  it.each<[why: string, answers: AnswerSample[], asked: string]>([
    [
      'comes with a video and without one',
      polled({ status: 'active', video_url: VIDEO }, { status: 'active' }),
      'What does "active" mean?',
    ],
    [
      'stands where another answer has another word',
      polled({ phase: 'queued' }, { status: 'P7', phase: 'running' }),
      'What does "P7" mean?',
    ],
    [
      'is a number and comes with an error, which may be about the call',
      polled({ status: 4, error: { code: 'nsfw' } }),
      'running: [4]',
    ],
  ])('asks for the meaning of a state whose word %s', (_why, answers, asked) => {
    expect(proposeProfile(answers)).toEqual({ notes: [expect.stringContaining(asked)] });
  });

  it('asks about a link that does not say what it leads to, if there is no other', () => {
    const dish = { dish: { where: 'https://cdn.example.com/dish/17' } };
    const ask = 'No link to a video was found. Is it dish.where? Then add it as read: { video: dish.where }.';
    expect(proposeProfile([sample({ status: 'running', ...dish })]).notes).toContain(ask);
    expect(proposeProfile([sample({ status: 'succeeded', video_url: VIDEO, ...dish })]).notes).toEqual([]);
  });
});
