import {
  type JobRecord,
  type KnownSends,
  lostSubmitIn,
  mayKnowKey,
  othersWithKey,
  unsureIn,
} from '../../../activities/job-record';
import type { ServiceChoice } from '../../../src/contract/service-choice';
import type { RecordedFacts } from '../../../src/retention';
import { startAttempt } from '../activity-world';

describe('what a record says to the next submit of its job', () => {
  const SENT = {
    state: 'sending',
    sender: 'another',
    send: 'send-1',
    at: new Date(0).toISOString(),
  } as const;
  const refused = (more = {}) => ({ state: 'refused', keySent: true, ...more }) as const;
  const [A, B] = [{ name: 'a' }, { name: 'b' }];
  const lostIn = (record: JobRecord | undefined, known: Partial<KnownSends> = {}) =>
    startAttempt(
      async () => lostSubmitIn(record, { sendWithoutTask: undefined, isDecided: false, ...known }),
      undefined,
    ).result;

  test('is that a request is lost, if nothing else is known of it', async () => {
    expect(await lostIn(SENT)).toContain('its answer is not on record');
    expect(await lostIn(SENT, { sendWithoutTask: 'send-2' })).toContain('its answer is not on record');
    expect(await lostIn(SENT, { sendWithoutTask: 'send-1' })).toBeUndefined();
    expect(await lostIn(undefined)).toBeUndefined();
    expect(await lostIn({ state: 'submitted', taskId: 'task-1' })).toBeUndefined();
  });

  test('is that an operator has decided about what others sent, but not about what it sends itself', async () => {
    const own = { ...SENT, sender: '00000000-0000-0000-0000-000000000000/test/1' };
    expect(await lostIn(SENT, { isDecided: true })).toBeUndefined();
    expect(await lostIn(own, { isDecided: true })).toContain('its answer is not on record');
  });

  test('is that a submit before a refusal is lost, until somebody decides', async () => {
    expect(await lostIn(refused({ lostSubmit: 'it was cut' }))).toBe('it was cut');
    expect(await lostIn(refused({ lostSubmit: 'it was cut' }), { isDecided: true })).toBeUndefined();
  });

  test('is which answer leaves it open whether a task exists, here or at another service', () => {
    const unsure = refused({ unsure: 'HTTP 500' });
    expect(unsureIn(unsure, { choice: A }, A)).toEqual({ here: 'HTTP 500' });
    expect(unsureIn(unsure, { choice: A }, B)).toEqual({ elsewhere: 'HTTP 500' });
    expect(unsureIn(unsure, {}, B)).toEqual({ here: 'HTTP 500' });
    expect(unsureIn(unsure, { choice: A }, undefined)).toEqual({ here: 'HTTP 500' });
    expect(unsureIn(SENT, { choice: A }, A)).toEqual({ here: undefined });
    expect(unsureIn(undefined, {}, A)).toEqual({ here: undefined });
  });

  test.each<[string, boolean, JobRecord | undefined, RecordedFacts, ServiceChoice | undefined]>([
    ['there is no record', false, undefined, { choice: A, keySentTo: ['a'] }, A],
    ['it was sent here', true, SENT, { choice: A }, A],
    ['it was sent, nobody knows where', true, SENT, {}, A],
    ['it was sent elsewhere', false, SENT, { choice: B }, A],
    ['it was sent here before it went elsewhere', true, SENT, { choice: B, keySentTo: ['a'] }, A],
    ['others had it before', false, refused({ keySent: false }), { choice: A, keySentTo: ['b'] }, A],
    ['it was refused here before it left', false, refused({ keySent: false }), { choice: A }, A],
    ['it was refused here', true, refused(), { choice: A }, A],
    ['it was sent from a worker without names', true, SENT, { keySentTo: ['a'] }, undefined],
  ])(
    'is whether the service may know the key: when %s, that is %s',
    (_what, mayKnow, record, facts, asked) => {
      expect(mayKnowKey(record, facts, asked)).toBe(mayKnow);
    },
  );

  test.each<[string, string[] | undefined, JobRecord | undefined, RecordedFacts]>([
    ['none, at first', undefined, undefined, {}],
    ['none but this one', undefined, SENT, { choice: A }],
    ['none that is known', undefined, SENT, {}],
    ['the one before', ['b'], SENT, { choice: B }],
    ['none that refused it before it left', undefined, refused({ keySent: false }), { choice: B }],
    ['all before, each once', ['c', 'b'], refused(), { choice: B, keySentTo: ['c', 'b'] }],
    ['those before this one', ['c'], SENT, { choice: A, keySentTo: ['c'] }],
  ])('is which others may know it: %s', (_what, others, record, facts) => {
    expect(othersWithKey(record, facts, A)).toEqual(others);
  });
});
