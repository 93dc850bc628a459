import { parseProfile } from '../../src/service/parse-profile';
import * as proposing from '../../src/service/propose-profile';
import { traceAnswer } from '../../src/service/read-answer';
import { readingRules } from '../../src/service/reading-rules';
import { sample } from './answer-sample';
import { PROVIDERS, VIDEO } from './provider-answers';

/** The profile with its notes; {} if none is proposed. */
const proposeProfile = (...given: Parameters<typeof proposing.proposeProfile>) => {
  const { profile = {}, notes } = proposing.proposeProfile(...given);
  return { profile, notes };
};
const propose = (...bodies: unknown[]) => proposeProfile(bodies.map((body) => sample(body)));

const TICKET = { ticket: { no: 7, phase: 'P9' }, deliverable: { href: 'https://cdn.example.com/a.mp4' } };

describe('a profile is proposed', () => {
  it('that reads an answer of which nothing was understood', () => {
    const { profile } = propose(TICKET);
    expect(profile).toEqual({
      read: { taskId: 'ticket.no', state: 'ticket.phase', video: 'deliverable.href' },
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
    });
    expect(notes).toEqual([
      'What does "P1" mean? Put it under queued, running, succeeded, failed or cancelled, such as states: { running: ["P1"] }.',
      'What does "P3" mean? Put it under queued, running, succeeded, failed or cancelled, such as states: { running: ["P3"] }.',
      'What does "P8" mean? Put it under queued, running, succeeded, failed or cancelled, such as states: { running: ["P8"] }.',
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
    expect(proposeProfile([sample(TICKET)], inUse).profile).toEqual({
      read: { taskId: 'ticket.no', state: 'ticket.phase', video: 'deliverable.href' },
      states: { succeeded: ['P8'] },
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
        // What was not there before may be read now.
        expect(traceAnswer(answer, rules)).toMatchObject(
          JSON.parse(JSON.stringify({ task, serviceMessage })),
        );
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

  it('may be a new word when there is a video', () => {
    expect(find({ status: 'brewed', video_url: VIDEO })).toEqual({ profile: {}, notes: [] });
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

const NOTHING = { profile: {}, notes: [] };
const polled = (...bodies: object[]) => proposeProfile(bodies.map((body) => sample(body, { call: 'poll' })));
const submitted = (...bodies: object[]) =>
  proposeProfile(bodies.map((body) => sample(body, { call: 'submit' })));

describe('what is proposed is for the answer', () => {
  const WHOLE = { job_ref: 'j', phase: 'queued', pct: 5, clip: VIDEO };

  it.each<[proposing.AnswerSample['call'], string[]]>([
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

  it('if the value there is read as something else', () => {
    expect(submitted({ task_id: 'queued' })).toEqual(NOTHING);
  });

  it('for the state around a video that is there', () => {
    expect(polled({ status: 'ok', video_url: VIDEO, job: { stage: 'rendering' } })).toEqual(NOTHING);
  });
});

describe('next to a code that may mean a refusal', () => {
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
  it('is a question if there is an error: what has failed may be the call', () => {
    const { profile, notes } = polled({ status: 4, error: { code: 'nsfw' } });
    expect(profile).toEqual({});
    expect(notes).toEqual([expect.stringContaining('What does "4" mean?')]);
  });

  it('is asked for as the service writes it, with its zeros', () => {
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
