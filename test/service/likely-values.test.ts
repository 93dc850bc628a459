import { type AnswerSample, proposeProfile } from '../../src/service/propose-profile';
import { sample } from './answer-sample';

const LINK = 'https://cdn.example.com/1';

describe('of two values the likelier one is proposed:', () => {
  const readOf = (body: object, rest: Partial<AnswerSample>) =>
    proposeProfile([sample(body, rest)]).profile.read;

  describe('as the id,', () => {
    const find = (body: object) => readOf(body, { call: 'submit' })?.taskId;

    it.each([
      ['one of a task', { ref: 'x', job: { ref: 'y' } }, 'job.ref'],
      ['one that is clearly an id', { ticket_no: 5, ticket_ref: 'y' }, 'ticket_ref'],
      ['one that is clearly an id, of whatever', { number: 5, handle: 'y' }, 'handle'],
      ['one that is only of a task', { order: { no: 5 } }, 'order.no'],
      ['no sentence', { job: 'A job well done', order: { ref: 'y' } }, 'order.ref'],
      ['not an empty text', { job: ' ', order: { ref: 'y' } }, 'order.ref'],
      ['none that counts', { number: 5 }, undefined],
      ['one that is not in a list', { jobs: [{ ref: 'x' }], job: { ref: 'y' } }, 'job.ref'],
    ])('%s', (_what, body, path) => {
      expect(find(body)).toBe(path);
    });

    it('one that is in no list, however deep', () => {
      const leaf = { job_ref: 'x' };
      const body = { a: { b: { c: { d: { e: { f: [leaf], g: { h: leaf } } } } } } };
      expect(find(body)).toBe('a.b.c.d.e.g.h.job_ref');
    });

    it('one of at most 200 characters, whatever it contains but not begins with', () => {
      expect(find({ job_ref: 'x'.repeat(201) })).toBeUndefined();
      expect(find({ job_ref: 'x'.repeat(200) })).toBe('job_ref');
      expect(find({ job_ref: 'gs://bucket' })).toBeUndefined();
      expect(find({ job_ref: '7:gs://bucket' })).toBe('job_ref');
    });
  });

  describe('as the state,', () => {
    const find = (body: object) => readOf(body, { call: 'poll' })?.state;

    it.each([
      ['one with such a name', { now: 'queued', phase: 'P1' }, 'phase'],
      ['a known word', { phase: 'P1', stage: 'queued' }, 'stage'],
      ['a text', { phase: 3, stage: 'P1' }, 'stage'],
      ['a number if there is no text', { phase: 3 }, 'phase'],
      ['the upper one', { job: { phase: 'P1' }, phase: 'P2' }, 'phase'],
      ['one that is not in a list', { jobs: [{ phase: 'P1' }], job: { phase: 'P2' } }, 'job.phase'],
      [
        'one of at most 40 characters',
        { phase: 'x'.repeat(41), job: { stage: 'y'.repeat(40) } },
        'job.stage',
      ],
      ['not the HTTP status', { phase: 200, job: { stage: 201 } }, 'job.stage'],
      ['no message', { state_message: 'P1', job: { stage: 'P2' } }, 'job.stage'],
      ['no code', { status_code: 'P1', job: { stage: 'P2' } }, 'job.stage'],
      ['not that of an error', { error_state: 'P1', job: { stage: 'P2' } }, 'job.stage'],
      ['a known word under any name', { now: 'P1', where: 'queued' }, 'where'],
      ['not what only its object is named', { phase: { of: 'P1' }, job: { stage: 'P2' } }, 'job.stage'],
      ['not an empty text', { phase: ' ', job: { stage: 'P2' } }, 'job.stage'],
      ['not the link to it', { state_url: LINK, job: { stage: 'P1' } }, 'job.stage'],
    ])('%s', (_what, body, path) => {
      expect(find(body)).toBe(path);
    });

    it('one that is in no list, however deep', () => {
      const leaf = { phase: 'P1' };
      const body = { a: { b: { c: { d: { e: { f: [leaf], g: { h: leaf } } } } } } };
      expect(find(body)).toBe('a.b.c.d.e.g.h.phase');
    });
  });

  describe('as the video,', () => {
    const find = (body: object) => readOf({ status: 'completed', ...body }, { call: 'poll' })?.video;

    it.each(['png', 'PNG', 'jpg', 'jpeg', 'htm', 'html', 'zip'])('not a file named .%s', (extension) => {
      const other = `${LINK}.${extension}?w=1`;
      expect(find({ clip: { href: other } })).toBeUndefined();
      expect(find({ clip: { href: other, src: LINK } })).toBe('clip.src');
    });

    it('a link without a host only if something says that it leads to a video', () => {
      expect(find({ product: { location: '/pages/1' } })).toBeUndefined();
      expect(find({ product: { location: '/pages/1.mp4' } })).toBe('product.location');
      expect(find({ product: { location: `${LINK}/` } })).toBe('product.location');
    });

    it('a link of which two signs say so', () => {
      expect(find({ location: LINK })).toBeUndefined();
      expect(find({ location: LINK, product: { href: LINK } })).toBe('product.href');
    });
  });

  describe('as the progress,', () => {
    const find = (body: object) => readOf({ status: 'running', ...body }, { call: 'poll' })?.progress;

    it.each([
      ['a percentage', { pct: 'soon', job: { pct: 40 } }, 'job.pct'],
      ['the upper one', { completion: 40, job: { pct: 90 } }, 'completion'],
      ['that with fewer keys', { a: { b: { pct: 1 } }, list: [{ pct: 2 }] }, 'list[].pct'],
      ['none of an error', { failed: { pct: 40 } }, undefined],
      ['none without such a name', { seconds: 40 }, undefined],
    ])('%s', (_what, body, path) => {
      expect(find(body)).toBe(path);
    });
  });

  describe('as the code of an error,', () => {
    const find = (body: object, status = 402) => readOf(body, { call: 'submit', status })?.code;

    it.each([
      ['one that is called code', { fault: { kind: 'a', errcode: 'b' } }, 'fault.errcode'],
      ['the upper one', { fault: { more: { kind: 'a' }, kind: 'b' } }, 'fault.kind'],
      [
        'that with fewer keys',
        { fault: { a: { b: { kind: 'x' } }, list: [{ kind: 'y' }] } },
        'fault.list[].kind',
      ],
      ['not a sentence', { fault: { errcode: 'Not allowed', kind: 'nsfw' } }, 'fault.kind'],
      ['not an empty text', { fault: { errcode: '', kind: 'nsfw' } }, 'fault.kind'],
      ['not the HTTP status', { fault: { errcode: 402, kind: 'nsfw' } }, 'fault.kind'],
      [
        'one of at most 100 characters',
        { fault: { errcode: 'x'.repeat(101), kind: 'y'.repeat(100) } },
        'fault.kind',
      ],
      ['none without such a name', { fault: { where: 'nsfw' } }, undefined],
    ])('%s', (_what, body, path) => {
      expect(find(body)).toBe(path);
    });

    it.each([
      [200, undefined],
      [299, undefined],
      [300, 'kind'],
      [500, 'kind'],
    ])('with the status %d and no word for an error: %s', (status, path) => {
      expect(find({ kind: 'nsfw' }, status)).toBe(path);
    });
  });

  describe('as the message of an error,', () => {
    const find = (body: object, status = 402) => readOf(body, { call: 'submit', status })?.message;

    it.each([
      ['one with such a name', { fault: { en: 'Not allowed', reason: 'nsfw' } }, 'fault.reason'],
      ['a sentence', { fault: { reason: 'nsfw', text: 'Not allowed' } }, 'fault.text'],
      ['a sentence under any name', { fault: { where: 'here', en: 'Not allowed' } }, 'fault.en'],
      ['a word under such a name', { fault: { where: 'here', reason: 'nsfw' } }, 'fault.reason'],
      ['no word under any other name', { fault: { where: 'here' } }, undefined],
      ['the upper one', { fault: { more: { reason: 'a' }, reason: 'b' } }, 'fault.reason'],
      [
        'that with fewer keys',
        { fault: { a: { b: { reason: 'x' } }, list: [{ reason: 'y' }] } },
        'fault.list[].reason',
      ],
      ['no link', { fault: { reason: LINK, text: 'nsfw' } }, 'fault.text'],
      ['no number', { fault: { reason: 7, text: 'nsfw' } }, 'fault.text'],
    ])('%s', (_what, body, path) => {
      expect(find(body)).toBe(path);
    });

    it.each([
      [200, undefined],
      [299, undefined],
      [300, 'reason'],
      [500, 'reason'],
    ])('with the status %d and no word for an error: %s', (status, path) => {
      expect(find({ reason: 'Not allowed', where: 'in this place' }, status)).toBe(path);
    });

    it('none, if only the status says that it is an error', () => {
      expect(find({ where: 'in this place' }, 500)).toBeUndefined();
    });
  });
});

it('values that cannot be it take no place among the likeliest', () => {
  const eight = (name: string, value: string) =>
    Object.fromEntries([...'abcdefgh'].map((letter) => [`${name}_${letter}`, value]));
  const running = sample({ status: 'running', ...eight('pct', 'soon'), job: { pct: 40 } }, { call: 'poll' });
  expect(proposeProfile([running]).profile.read?.progress).toBe('job.pct');
  const refused = sample({ fault: { ...eight('reason', ''), more: { reason: 'nsfw' } } }, { status: 402 });
  expect(proposeProfile([refused]).profile.read?.message).toBe('fault.more.reason');
});
