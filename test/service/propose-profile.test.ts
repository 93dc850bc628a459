import {
  type AnswerSample,
  parseProfile,
  proposeProfile,
  readingRules,
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
  ])('%s', (_what, answers, read) => {
    expect(readOf(answers)).toEqual(read);
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
    [[[TICKET]]],
  ])('for what is understood or has no path: %j', (bodies) => {
    expect(proposeProfile(bodies.map((body) => sample(body)))).toEqual(NOTHING);
  });
});

describe('the id', () => {
  it.each([
    [{ job: { uuid: '0b1c' } }, 'job.uuid'],
    [{ job: 'j' }, 'job'],
    [{ user: { id: 5 }, account_id: 'x', order: { reference: 'r' } }, 'order.reference'],
    [{ deep: { down: { job_ref: 'd' } }, top: { job_ref: 't' } }, 'top.job_ref'],
    [{ meta: JSON.stringify({ job: { ref: 'j' } }) }, 'meta.job.ref'],
  ])('of %j is at %s', (body, taskId) => {
    expect(readOf(submitted(body))).toEqual({ taskId });
  });
});

describe('the video', () => {
  const find = (body: object) => readOf(polled({ status: 'completed', ...body }));

  it.each([
    [{ clips: [{ cover: `${VIDEO}.png`, link: VIDEO }] }, 'clips[].link'],
    [{ product: { location: 'https://cdn.example.com/1' } }, 'product.location'],
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
});

describe('the state', () => {
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
    ['is a number', polled({ status: 4 }), 'running: [4]'],
  ])('is a question when its word %s', (_why, answers, asked) => {
    expect(proposeProfile(answers)).toEqual({ notes: [expect.stringContaining(asked)] });
  });
});
