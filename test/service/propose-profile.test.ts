import { parseProfile, readingRules } from '../../src/service/profile';
import { type AnswerToRead, proposeProfile, together } from '../../src/service/propose-profile';
import { traceAnswer } from '../../src/service/read-answer';
import { PROVIDERS, VIDEO } from './provider-answers';

const kept = (body: unknown, rest: Partial<AnswerToRead> = {}): AnswerToRead => ({
  status: 200,
  body: JSON.stringify(body),
  ...rest,
});
const propose = (...bodies: unknown[]) => proposeProfile(bodies.map((body) => kept(body)));

const TICKET = { ticket: { no: 7, phase: 'P9' }, deliverable: { href: 'https://cdn.example.com/a.mp4' } };

describe('a profile is proposed', () => {
  it('that reads an answer of which nothing was understood', () => {
    const { profile } = propose(TICKET);
    expect(profile).toEqual({
      read: { taskId: 'ticket.no', state: 'ticket.phase', video: 'deliverable.href' },
      states: { succeeded: ['P9'] },
    });
    expect(traceAnswer(kept(TICKET), readingRules(profile))).toMatchObject({
      taskId: '7',
      task: { state: 'succeeded', word: 'P9', videoUrl: TICKET.deliverable.href },
    });
  });

  it('from all the answers of a service together, with a question for each word that they do not explain', () => {
    const { profile, notes } = proposeProfile([
      kept({ ticket: { no: 7, phase: 'P1' } }, { call: 'submit' }),
      kept({ ticket: { no: 7, phase: 'P3', pct: 12 } }, { call: 'poll' }),
      kept(TICKET, { call: 'poll' }),
      kept(
        { ticket: { no: 8, phase: 'P8' }, problem: { kind: 'nsfw', text: 'Not allowed' } },
        { call: 'poll' },
      ),
    ]);
    expect(profile).toEqual({
      read: {
        taskId: 'ticket.no',
        state: 'ticket.phase',
        progress: 'ticket.pct',
        video: 'deliverable.href',
        code: 'problem.kind',
        message: 'problem.text',
      },
      states: { succeeded: ['P9'], failed: ['P8'] },
    });
    expect(notes).toEqual([
      'What does "P1" mean? Put it under queued, running, succeeded, failed or cancelled, such as states: { running: ["P1"] }.',
      'What does "P3" mean? Put it under queued, running, succeeded, failed or cancelled, such as states: { running: ["P3"] }.',
    ]);
  });

  it('that names the usual place as well, when other answers have the thing there', () => {
    const { profile } = proposeProfile([
      kept({ task_id: 'a' }, { call: 'submit' }),
      kept({ ticketNo: 'b' }, { call: 'submit' }),
    ]);
    expect(profile).toEqual({ read: { taskId: ['task_id', 'ticketNo'] } });
  });

  it('that goes on from the profile in use', () => {
    const inUse = { read: { taskId: 'ticket.no' }, states: { succeeded: ['P8'] } };
    const { profile } = proposeProfile([kept(TICKET)], inUse);
    expect(profile.read).toEqual({ state: 'ticket.phase', video: 'deliverable.href' });
    expect(together(inUse, profile)).toEqual({
      read: { taskId: 'ticket.no', state: 'ticket.phase', video: 'deliverable.href' },
      states: { succeeded: ['P8', 'P9'] },
    });
  });

  it('with a note when nobody knows whether the answer is one to a submit', () => {
    expect(propose(TICKET).notes).toEqual([expect.stringContaining('leave taskId out')]);
    expect(proposeProfile([kept(TICKET, { call: 'submit' })]).notes).toEqual([]);
    expect(proposeProfile([kept(TICKET, { call: 'poll' })]).profile.read).not.toHaveProperty('taskId');
  });
});

describe('nothing is proposed', () => {
  it.each(PROVIDERS.filter(({ name }) => !/PixVerse/.test(name)))(
    'that changes how $name is read, which is understood',
    ({ exchanges }) => {
      const answers = exchanges.map(([answer]) => answer);
      const rules = readingRules(proposeProfile(answers).profile);
      for (const answer of answers) {
        const { task, said } = traceAnswer(answer);
        expect(traceAnswer(answer, rules)).toMatchObject({ task, said });
      }
    },
  );

  it.each([
    [{ task_id: 'a', status: 'queued' }],
    [{ id: 'a', status: 'succeeded', video_url: VIDEO }],
    [{}],
    [[TICKET]],
    [{ list: [[TICKET]] }],
    [{ 'a key': 7, 'a.b': { id: 7 } }],
  ])('for %j', (body) => {
    expect(propose(body)).toEqual({ profile: {}, notes: [] });
  });

  it.each(['', '<html>', 'null', '{"ticket":'])('for the body %j', (body) => {
    expect(proposeProfile([{ status: 200, body }])).toEqual({ profile: {}, notes: [] });
  });
});

it('no place is proposed from which nothing would be read', () => {
  const nothing = kept({ status: 'completed', problem: { code: 0, kind: 'success' } }, { call: 'poll' });
  expect(proposeProfile([nothing])).toEqual({ profile: {}, notes: [] });
});

it('no place is proposed at which another answer would be read in another way', () => {
  const { profile } = proposeProfile([
    kept({ status: 'running', phase: 'P1' }, { call: 'poll' }),
    kept({ phase: 'queued' }, { call: 'poll' }),
  ]);
  expect(profile).toEqual({ read: { state: ['status', 'phase'] } });
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
  ])('of %j is at %s', (body, place) => {
    expect(proposeProfile([kept(body, { call: 'submit' })]).profile).toEqual({ read: { taskId: place } });
  });

  it.each([
    [{ user: { id: 5 } }],
    [{ trace_id: 'x', modelId: 'm' }],
    [{ number: 5 }],
    [{ page: { no: 2 } }],
    [{ job: 'https://example.com/1' }],
    [{ job: 'A job well done' }],
    [{ job_id: 0, ref: '' }],
  ])('is nowhere in %j', (body) => {
    expect(proposeProfile([kept(body, { call: 'submit' })]).profile).toEqual({});
  });
});

describe('the video', () => {
  const find = (body: object) =>
    proposeProfile([kept({ status: 'completed', ...body }, { call: 'poll' })]).profile;

  it.each([
    [{ clips: [{ cover: `${VIDEO}.png`, link: VIDEO }] }, 'clips[].link'],
    [{ files: { download: 'https://cdn.example.com/1' } }, 'files.download'],
    [{ product: { location: 'https://cdn.example.com/1' } }, 'product.location'],
    [{ deliverable: '/v/1.mp4' }, 'deliverable'],
    [{ page: 'https://example.com/x', stuff: { a: VIDEO } }, 'stuff.a'],
    [{ payload: JSON.stringify({ clip: VIDEO }) }, 'payload.clip'],
  ])('in %j is at %s', (body, place) => {
    expect(find(body)).toEqual({ read: { video: place } });
  });

  it.each(
    (
      'cover thumb_url thumbnail poster preview_image preview watermark watermarkedVideo last_frame webhook_url ' +
      'callbackUrl polling_url status_url cancel_url self input source_video'
    ).split(' '),
  )('is never at %s', (key) => {
    expect(find({ [key]: VIDEO, inner: { [key]: { href: VIDEO } } })).toEqual({});
  });

  it.each(['https://example.com', '/result', 'ftp://x/1.mp4', 'https://x/video.png', '1.mp4'])(
    'is never %s without a name that says so',
    (link) => {
      expect(find({ thing: link })).toEqual({});
    },
  );
});

describe('the state', () => {
  const find = (...bodies: object[]) => proposeProfile(bodies.map((body) => kept(body, { call: 'poll' })));

  it.each([
    [{ job: { phase: 'processing' } }, 'job.phase'],
    [{ progress_state: 'queued' }, 'progress_state'],
    [{ where: { now: 'rendering' } }, 'where.now'],
    [{ status: 'ok', job: { stage: 'rendering' } }, 'job.stage'],
  ])('of %j is at %s', (body, place) => {
    expect(find(body)).toEqual({ profile: { read: { state: place } }, notes: [] });
  });

  it('keeps its place when only the word is new', () => {
    expect(find({ status: 'brewed', video_url: VIDEO }).profile).toEqual({
      states: { succeeded: ['brewed'] },
    });
    expect(find({ status: 4, error: { code: 'nsfw', message: 'x' } }).profile).toEqual({
      states: { failed: [4] },
    });
  });

  it('is asked about when one word stands beside a video and beside none', () => {
    const { profile, notes } = find({ status: 'active', video_url: VIDEO }, { status: 'active' });
    expect(profile).toEqual({});
    expect(notes).toEqual([expect.stringContaining('"active"')]);
  });

  it('is not failed because of a code that may mean that all is well', () => {
    const { profile, notes } = find({ code: 10000, message: 'Accepted', status: 'P1' });
    expect(profile).toEqual({});
    expect(notes).toEqual([expect.stringContaining('"P1"')]);
  });
});

it("a refusal's own words are found under other names", () => {
  const refusal = kept(
    { fault: { errcode: 'E7', explanation: 'No credit left' } },
    { status: 402, call: 'submit' },
  );
  expect(proposeProfile([refusal]).profile).toEqual({
    read: { code: 'fault.errcode', message: 'fault.explanation' },
  });
});

it('an answer as large as any that is read is looked through in a bounded time, and what is proposed is always valid', () => {
  const wide = Object.fromEntries(
    Array.from({ length: 10_000 }, (_, index) => [`job_id_${index}`, `j${index}`]),
  );
  const { profile } = propose({ ...wide, a: Array(1_000).fill(TICKET) });
  expect(parseProfile(profile)).toEqual({ ok: true, profile });
  expect(profile.read?.taskId).toBe('job_id_0');
});
