import {
  type AnswerSample,
  parseProfile,
  proposeProfile,
  readingRules,
  type ServiceProfile,
  traceAnswer,
} from '../../src/service';
import { PROVIDERS, VIDEO } from './provider-answers';

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
const NOTHING = { notes: [] };

describe('a profile is proposed', () => {
  it('that reads an answer of which nothing was understood', () => {
    const { profile = {} } = proposeProfile([sample(TICKET)]);
    expect(profile).toEqual({ read: READ_TICKET });
    expect(traceAnswer(sample(TICKET), readingRules(profile))).toMatchObject({
      taskId: '7',
      task: { state: 'succeeded', word: 'P9', videoUrl: TICKET.deliverable.href },
    });
  });

  it('from all the answers of a service, with a question for each unclear word', () => {
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

  it('in addition to the profile in use', () => {
    const inUse: ServiceProfile = { read: { taskId: 'ticket.no' }, states: { succeeded: ['P8'] } };
    expect(proposeProfile([sample(TICKET)], inUse).profile).toEqual({ ...inUse, read: READ_TICKET });
  });

  it.each<[what: string, answers: AnswerSample[], read: object]>([
    [
      'with the default path too, when other answers use that',
      submitted({ task_id: 'a' }, { ticketNo: 'b' }),
      { taskId: ['task_id', 'ticketNo'] },
    ],
    [
      'with paths in the order that changes no other answer',
      polled({ status: 'running', phase: 'P1' }, { phase: 'queued' }),
      { state: ['status', 'phase'] },
    ],
    [
      'for the code and the message of a refusal under other names',
      [sample({ fault: { errcode: 'E7', explanation: 'No credit left' } }, 'submit', 402)],
      { code: 'fault.errcode', message: 'fault.explanation' },
    ],
    [
      'for a known word next to a code that may mean a refusal',
      polled({ code: 10_000, message: 'Accepted', name: 'queued' }),
      { state: 'name' },
    ],
    [
      'for an id next to such a code, if it is not that of the call',
      submitted({ code: 10_000, message: 'Accepted', ticket: { no: 7 } }),
      { taskId: 'ticket.no' },
    ],
    [
      'for the id of a call without such a code',
      submitted({ meta: { requestId: 'r' } }),
      { taskId: 'meta.requestId' },
    ],
  ])('%s', (_what, answers, read) => {
    expect(readOf(answers)).toEqual(read);
  });

  it.each<[AnswerSample['call'], string[]]>([
    ['submit', ['progress', 'state', 'taskId', 'video']],
    ['poll', ['progress', 'state', 'video']],
    ['cancel', []],
    ['link', []],
  ])('for the answer to a %s: %j', (call, fields) => {
    const read = readOf([sample({ job_ref: 'j', phase: 'queued', pct: 5, clip: VIDEO }, call)]) ?? {};
    expect(Object.keys(read).sort()).toEqual(fields);
  });

  it('that is valid, in a bounded time, from the largest answer', () => {
    const wide = Object.fromEntries(Array.from({ length: 10_000 }, (_, at) => [`job_id_${at}`, `j${at}`]));
    const { profile } = proposeProfile([sample({ ...wide, a: Array(1_000).fill(TICKET) })]);
    expect(parseProfile(profile)).toEqual({ ok: true, profile });
    expect(profile?.read?.taskId).toBe('job_id_0');
  });
});

describe('nothing is proposed', () => {
  it.each(PROVIDERS.filter(({ name }) => name !== 'pixverse'))(
    'that changes how $name is read',
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
    [[{ task_id: 'a', status: 'queued' }]],
    [[{ id: 'a', status: 'succeeded', video_url: VIDEO }]],
    [[{}]],
    [[[TICKET]]],
    [[{ list: [[TICKET]] }]],
    [[{ 'a key': 7, 'a.b': { id: 7 } }]],
  ])('for what is understood or has no path: %j', (bodies) => {
    expect(proposeProfile(bodies.map((body) => sample(body)))).toEqual(NOTHING);
  });

  it.each(['', '<html>', 'null', '{"ticket":'])('for the body %j', (body) => {
    expect(proposeProfile([{ status: 200, body }])).toEqual(NOTHING);
  });

  it.each<[why: string, answers: AnswerSample[]]>([
    ['would be read there', polled({ status: 'completed', problem: { code: 0, kind: 'success' } })],
    ['is clear already', polled({ done: false }, { data: { done: false } }, { done: true })],
    [
      'another answer says would stay',
      polled({ status: 'ok', job: { stage: 'rendering' } }, { status: 'ok' }),
    ],
    ['else is read there', submitted({ task_id: 'queued' })],
    [
      'is missing around a video that is there',
      polled({ status: 'ok', video_url: VIDEO, job: { stage: 'rendering' } }),
    ],
    ['is missing: a new word may come with a video', polled({ status: 'brewed', video_url: VIDEO })],
    [
      'in a refusal is the id of a task',
      submitted({ error: { code: 'no_credit', message: 'No credit left' }, ticket: { no: 7 } }),
    ],
  ])('where nothing %s', (_why, answers) => {
    expect(proposeProfile(answers)).toEqual(NOTHING);
  });
});

describe('the id', () => {
  it.each([
    [{ job: { uuid: '0b1c' } }, 'job.uuid'],
    [{ jobId: 'j' }, 'jobId'],
    [{ job: 'j' }, 'job'],
    [{ render: { _id: 'r' } }, 'render._id'],
    [{ ticket_number: 5 }, 'ticket_number'],
    [{ handle: 'h' }, 'handle'],
    [{ user: { id: 5 }, account_id: 'x', order: { reference: 'r' } }, 'order.reference'],
    [{ deep: { down: { job_ref: 'd' } }, top: { job_ref: 't' } }, 'top.job_ref'],
    [{ meta: JSON.stringify({ job: { ref: 'j' } }) }, 'meta.job.ref'],
  ])('of %j is at %s', (body, taskId) => {
    expect(readOf(submitted(body))).toEqual({ taskId });
  });

  it.each([
    { user: { id: 5 } },
    { trace_id: 'x', modelId: 'm' },
    { page: { no: 2 } },
    { job: 'https://example.com/1' },
    { job: 'A job well done' },
    { job_id: 0, ref: '' },
    ...[{ request_id: 'r' }, { meta: { call: { request_id: 'r' } } }].map((ofCall) => ({
      ...{ code: 10_000, message: 'Accepted' },
      ...ofCall,
    })),
  ])('is not found in %j', (body) => {
    expect(readOf(submitted(body))?.taskId).toBeUndefined();
  });
});

describe('the video', () => {
  const find = (body: object) => readOf(polled({ status: 'completed', ...body }));

  it.each([
    [{ clips: [{ cover: `${VIDEO}.png`, link: VIDEO }] }, 'clips[].link'],
    [{ files: { download: 'https://cdn.example.com/1' } }, 'files.download'],
    [{ product: { location: 'https://cdn.example.com/1' } }, 'product.location'],
    [{ deliverable: '/v/1.mp4' }, 'deliverable'],
    [{ page: 'https://example.com/x', stuff: { a: VIDEO } }, 'stuff.a'],
    [{ payload: JSON.stringify({ clip: VIDEO }) }, 'payload.clip'],
  ])('in %j is at %s', (body, video) => {
    expect(find(body)).toEqual({ video });
  });

  it.each(
    (
      'cover thumb_url thumbnail poster preview_image preview watermark watermarkedVideo last_frame webhook_url ' +
      'callbackUrl polling_url status_url cancel_url self input source_video'
    ).split(' '),
  )('is never at %s', (key) => {
    expect(find({ [key]: VIDEO, inner: { [key]: { href: VIDEO } } })).toBeUndefined();
  });

  it.each(['https://example.com', '/result', 'ftp://x/1.mp4', 'https://x/video.png', '1.mp4'])(
    'is never %s without a key that says so',
    (link) => {
      expect(find({ thing: link })).toBeUndefined();
    },
  );
});

describe('the state', () => {
  it.each([
    [{ job: { phase: 'processing' } }, 'job.phase'],
    [{ progress_state: 'queued' }, 'progress_state'],
    [{ where: { now: 'rendering' } }, 'where.now'],
    [{ status: 'ok', job: { stage: 'rendering' } }, 'job.stage'],
  ])('of %j is at %s', (body, state) => {
    expect(proposeProfile(polled(body))).toEqual({ profile: { read: { state } }, notes: [] });
  });

  it.each<[why: string, answers: AnswerSample[], asked: string]>([
    [
      'comes with a video and without one',
      polled({ status: 'active', video_url: VIDEO }, { status: 'active' }),
      'What does "active" mean?',
    ],
    [
      'comes with a code that may mean success',
      polled({ code: 10_000, message: 'Accepted', status: 'P1' }),
      'What does "P1" mean?',
    ],
    [
      'comes with an error, which may be about the call',
      polled({ status: 4, error: { code: 'nsfw' } }),
      'What does "4" mean?',
    ],
    [
      'stands where another answer has another word',
      polled({ phase: 'queued' }, { status: 'P7', phase: 'running' }),
      'What does "P7" mean?',
    ],
    ['is written with zeros', polled({ status: '04' }), 'running: ["04"]'],
    ['is a number', polled({ status: 4 }), 'running: [4]'],
  ])('is a question when its word %s', (_why, answers, asked) => {
    expect(proposeProfile(answers)).toEqual({ notes: [expect.stringContaining(asked)] });
  });
});

it.each<[what: string, answers: AnswerSample[], isThere: boolean]>([
  ['it is unknown which answer is one to a submit', [sample({ ticket: { no: 7 } })], true],
  ['none of them is known to be', [sample({ ticket: { no: 7 } }), ...polled({})], true],
  ['one is', [...submitted({ ticket: { no: 7 } }), ...polled({})], false],
  ['there is no such path', [sample({ phase: 'queued' })], false],
])('the note about the task id is there or not if %s', (_what, answers, isThere) => {
  const { notes } = proposeProfile(answers);
  expect(notes).toEqual(isThere ? [expect.stringContaining('leave taskId out')] : []);
});
