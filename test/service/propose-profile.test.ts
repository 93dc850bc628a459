import { parseProfile } from '../../src/service/profile';
import { mergeProfiles, proposeProfile } from '../../src/service/propose-profile';
import { traceAnswer } from '../../src/service/read-answer';
import { readingRules } from '../../src/service/rules-of-profile';
import { sample } from './answer-sample';
import { PROVIDERS, VIDEO } from './provider-answers';

const propose = (...bodies: unknown[]) => proposeProfile(bodies.map((body) => sample(body)));

const TICKET = { ticket: { no: 7, phase: 'P9' }, deliverable: { href: 'https://cdn.example.com/a.mp4' } };

describe('a profile is proposed', () => {
  it('that reads an answer of which nothing was understood', () => {
    const { profile } = propose(TICKET);
    expect(profile).toEqual({
      read: { taskId: 'ticket.no', state: 'ticket.phase', video: 'deliverable.href' },
      states: { succeeded: ['P9'] },
    });
    expect(traceAnswer(sample(TICKET), readingRules(profile))).toMatchObject({
      taskId: '7',
      task: { state: 'succeeded', word: 'P9', videoUrl: TICKET.deliverable.href },
    });
  });

  it('from all the answers of a service, with a question for each unclear word', () => {
    const { profile, notes } = proposeProfile([
      sample({ ticket: { no: 7, phase: 'P1' } }, { call: 'submit' }),
      sample({ ticket: { no: 7, phase: 'P3', pct: 12 } }, { call: 'poll' }),
      sample(TICKET, { call: 'poll' }),
      sample(
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

  it('with the default path too, when other answers use that', () => {
    const { profile } = proposeProfile([
      sample({ task_id: 'a' }, { call: 'submit' }),
      sample({ ticketNo: 'b' }, { call: 'submit' }),
    ]);
    expect(profile).toEqual({ read: { taskId: ['task_id', 'ticketNo'] } });
  });

  it('in addition to the profile in use', () => {
    const inUse = { read: { taskId: 'ticket.no' }, states: { succeeded: ['P8'] } };
    const { profile } = proposeProfile([sample(TICKET)], inUse);
    expect(profile.read).toEqual({ state: 'ticket.phase', video: 'deliverable.href' });
    expect(mergeProfiles(inUse, profile)).toEqual({
      read: { taskId: 'ticket.no', state: 'ticket.phase', video: 'deliverable.href' },
      states: { succeeded: ['P8', 'P9'] },
    });
  });

  it('with a note when it is unknown whether the answer is one to a submit', () => {
    expect(propose(TICKET).notes).toEqual([expect.stringContaining('leave taskId out')]);
    expect(proposeProfile([sample(TICKET, { call: 'submit' })]).notes).toEqual([]);
    expect(proposeProfile([sample(TICKET, { call: 'poll' })]).profile.read).not.toHaveProperty('taskId');
  });
});

describe('nothing is proposed', () => {
  it.each(PROVIDERS.filter(({ name }) => !/PixVerse/.test(name)))(
    'that changes how $name is read',
    ({ exchanges }) => {
      const answers = exchanges.map(([answer]) => answer);
      const rules = readingRules(proposeProfile(answers).profile);
      for (const answer of answers) {
        const { task, serviceMessage } = traceAnswer(answer);
        expect(traceAnswer(answer, rules)).toMatchObject({ task, serviceMessage });
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

it('no path is proposed at which nothing would be read', () => {
  const nothing = sample({ status: 'completed', problem: { code: 0, kind: 'success' } }, { call: 'poll' });
  expect(proposeProfile([nothing])).toEqual({ profile: {}, notes: [] });
});

it('no path is proposed that would change how another answer is read', () => {
  const { profile } = proposeProfile([
    sample({ status: 'running', phase: 'P1' }, { call: 'poll' }),
    sample({ phase: 'queued' }, { call: 'poll' }),
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
  ])('of %j is at %s', (body, path) => {
    expect(proposeProfile([sample(body, { call: 'submit' })]).profile).toEqual({ read: { taskId: path } });
  });

  it.each([
    [{ user: { id: 5 } }],
    [{ trace_id: 'x', modelId: 'm' }],
    [{ number: 5 }],
    [{ page: { no: 2 } }],
    [{ job: 'https://example.com/1' }],
    [{ job: 'A job well done' }],
    [{ job_id: 0, ref: '' }],
  ])('is not found in %j', (body) => {
    expect(proposeProfile([sample(body, { call: 'submit' })]).profile).toEqual({});
  });
});

describe('the video', () => {
  const find = (body: object) =>
    proposeProfile([sample({ status: 'completed', ...body }, { call: 'poll' })]).profile;

  it.each([
    [{ clips: [{ cover: `${VIDEO}.png`, link: VIDEO }] }, 'clips[].link'],
    [{ files: { download: 'https://cdn.example.com/1' } }, 'files.download'],
    [{ product: { location: 'https://cdn.example.com/1' } }, 'product.location'],
    [{ deliverable: '/v/1.mp4' }, 'deliverable'],
    [{ page: 'https://example.com/x', stuff: { a: VIDEO } }, 'stuff.a'],
    [{ payload: JSON.stringify({ clip: VIDEO }) }, 'payload.clip'],
  ])('in %j is at %s', (body, path) => {
    expect(find(body)).toEqual({ read: { video: path } });
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
    'is never %s without a key that says so',
    (link) => {
      expect(find({ thing: link })).toEqual({});
    },
  );
});

describe('the state', () => {
  const find = (...bodies: object[]) => proposeProfile(bodies.map((body) => sample(body, { call: 'poll' })));

  it.each([
    [{ job: { phase: 'processing' } }, 'job.phase'],
    [{ progress_state: 'queued' }, 'progress_state'],
    [{ where: { now: 'rendering' } }, 'where.now'],
    [{ status: 'ok', job: { stage: 'rendering' } }, 'job.stage'],
  ])('of %j is at %s', (body, path) => {
    expect(find(body)).toEqual({ profile: { read: { state: path } }, notes: [] });
  });

  it('keeps the default path when only the word is new', () => {
    expect(find({ status: 'brewed', video_url: VIDEO }).profile).toEqual({
      states: { succeeded: ['brewed'] },
    });
    expect(find({ status: 4, error: { code: 'nsfw', message: 'x' } }).profile).toEqual({
      states: { failed: [4] },
    });
  });

  it('is a question when one word comes with a video in one answer and without one in another', () => {
    const { profile, notes } = find({ status: 'active', video_url: VIDEO }, { status: 'active' });
    expect(profile).toEqual({});
    expect(notes).toEqual([expect.stringContaining('"active"')]);
  });

  it('is not failed because of a code that may mean success', () => {
    const { profile, notes } = find({ code: 10000, message: 'Accepted', status: 'P1' });
    expect(profile).toEqual({});
    expect(notes).toEqual([expect.stringContaining('"P1"')]);
  });
});

it("a refusal's code and message are found under other names", () => {
  const refusal = sample(
    { fault: { errcode: 'E7', explanation: 'No credit left' } },
    { status: 402, call: 'submit' },
  );
  expect(proposeProfile([refusal]).profile).toEqual({
    read: { code: 'fault.errcode', message: 'fault.explanation' },
  });
});

it('the largest answer is searched in a bounded time, and the proposed profile is always valid', () => {
  const wide = Object.fromEntries(
    Array.from({ length: 10_000 }, (_, index) => [`job_id_${index}`, `j${index}`]),
  );
  const { profile } = propose({ ...wide, a: Array(1_000).fill(TICKET) });
  expect(parseProfile(profile)).toEqual({ ok: true, profile });
  expect(profile.read?.taskId).toBe('job_id_0');
});
