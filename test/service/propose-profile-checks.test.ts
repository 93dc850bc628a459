import { type AnswerSample, proposeProfile } from '../../src/service/propose-profile';
import { sample } from './answer-sample';
import { VIDEO } from './provider-answers';

const NOTHING = { profile: {}, notes: [] };
const polled = (...bodies: object[]) => proposeProfile(bodies.map((body) => sample(body, { call: 'poll' })));
const submitted = (...bodies: object[]) =>
  proposeProfile(bodies.map((body) => sample(body, { call: 'submit' })));
const keysOf = (letters: string, prefix: string, value: unknown) =>
  Object.fromEntries([...letters].map((letter) => [`${prefix}${letter}`, value]));

describe('what is proposed is for the answer', () => {
  const WHOLE = { job_ref: 'j', phase: 'queued', pct: 5, clip: VIDEO };

  it.each<[AnswerSample['call'], string[]]>([
    ['submit', ['progress', 'state', 'taskId', 'video']],
    ['poll', ['progress', 'state', 'video']],
    ['cancel', []],
    ['link', []],
  ])('to a %s: %j', (call, fields) => {
    const { read = {} } = proposeProfile([sample(WHOLE, { call })]).profile;
    expect(Object.keys(read).sort()).toEqual(fields);
  });
});

describe('a path is not proposed', () => {
  it('if it is lost with it what another answer says', () => {
    const job = { status: 'ok', job: { stage: 'rendering' } };
    expect(polled(job).profile.read).toEqual({ state: 'job.stage' });
    expect(polled(job, { status: 'ok' })).toEqual(NOTHING);
  });

  it('if another answer would be read at it in place of its own', () => {
    const { profile, notes } = polled({ phase: 'queued' }, { status: 'P7', phase: 'running' });
    expect(profile).toEqual({});
    expect(notes).toEqual([expect.stringContaining('"P7"')]);
  });

  it('if another answer would be read elsewhere because of it', () => {
    const ready = { status: 'completed', file: VIDEO };
    expect(polled(ready).profile.read).toEqual({ video: 'file' });
    expect(polled(ready, { status: 'completed', data: { file: 'https://example.com/a.pdf' } })).toEqual(
      NOTHING,
    );
  });

  it('if the value there is read as something else', () => {
    expect(submitted({ task_id: 'queued' })).toEqual(NOTHING);
  });

  it('for the state around a video that is there', () => {
    expect(polled({ status: 'ok', video_url: VIDEO, job: { stage: 'rendering' } })).toEqual(NOTHING);
  });

  it.each([
    ['abcdefg', 'fault.kind'],
    ['abcdefgh', undefined],
  ])('if eight others are likelier: %s', (letters, path) => {
    const fault = { ...keysOf(letters, 'code_', 'ok'), kind: 'nsfw' };
    expect(polled({ status: 'failed', fault }).profile.read?.code).toBe(path);
  });
});

it('an answer that lacks nothing gives no candidates', () => {
  const { profile } = polled(
    { status: 'failed', error: { code: 'x' }, fault: keysOf('abcdefgh', 'code_', 'y') },
    { status: 'failed', fault: { kind: 'nsfw' } },
  );
  expect(profile.read?.code).toEqual(['error.code', 'fault.kind']);
});

describe('beside a code that may mean a refusal', () => {
  const accepted = { code: 10_000, message: 'Accepted' };

  it.each([{ request_id: 'r' }, { meta: { requestId: 'r' } }, { meta: { call: { request_id: 'r' } } }])(
    'the id of a call is not that of a task: %j',
    (body) => {
      expect(submitted({ ...accepted, ...body }).profile.read).toBeUndefined();
    },
  );

  it('another id is, and so is that of a call without the code', () => {
    expect(submitted({ ...accepted, ticket: { no: 7 } }).profile.read?.taskId).toBe('ticket.no');
    expect(submitted({ meta: { requestId: 'r' } }).profile.read?.taskId).toBe('meta.requestId');
  });

  it('a known word at such a path is the state', () => {
    expect(polled({ ...accepted, name: 'queued' }).profile.read).toEqual({ state: 'name' });
  });
});

it('the id in a refusal is not proposed', () => {
  const refused = { error: { code: 'no_credit', message: 'No credit left' }, ticket: { no: 7 } };
  expect(submitted(refused)).toEqual(NOTHING);
});

describe('the meaning of a word', () => {
  it('is failed if only the code shows an error', () => {
    expect(polled({ status: 4, error: { code: 'nsfw' } }).profile).toEqual({ states: { failed: [4] } });
  });

  it('is asked for as the service writes it, with its zeros', () => {
    expect(polled({ status: '04', video_url: VIDEO }).profile).toEqual({ states: { succeeded: ['04'] } });
    expect(polled({ status: '04' }).notes).toEqual([expect.stringContaining('running: ["04"]')]);
    expect(polled({ status: 4 }).notes).toEqual([expect.stringContaining('running: [4]')]);
  });

  it.each([{ done: false }, { data: { done: false } }, { done: true }])('is clear in %j', (body) => {
    expect(polled(body)).toEqual(NOTHING);
  });
});

describe('the note about the task id', () => {
  const ticket = { ticket: { no: 7 } };

  it('is there if no answer is known to be one to a submit', () => {
    expect(proposeProfile([sample(ticket), sample({}, { call: 'poll' })]).notes).toEqual([
      expect.stringContaining('leave taskId out'),
    ]);
  });

  it('is not there if one is, or if there is no such path', () => {
    expect(proposeProfile([sample(ticket, { call: 'submit' }), sample({}, { call: 'poll' })]).notes).toEqual(
      [],
    );
    expect(proposeProfile([sample({ phase: 'queued' })]).notes).toEqual([]);
  });
});
