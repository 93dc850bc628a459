import { registerSearchAttributes } from '../../src/client/search-attributes';
import { JOB_PHASES } from '../../src/contract/job';
import { firstSearchAttributes, SEARCH_ATTRIBUTES, searchAttributesOf } from '../../src/contract/names';

const valuesOf = (job: Parameters<typeof searchAttributesOf>[0]) =>
  searchAttributesOf(job).map(({ value }) => value);

test('every phase has a value for each attribute, because Temporal drops attributes without one', () => {
  for (const phase of JOB_PHASES) {
    expect(valuesOf({ phase })).toEqual(['none', phase, phase === 'succeeded' ? phase : 'none']);
  }
  expect(searchAttributesOf({ phase: 'failed' }).map(({ key }) => key.name)).toEqual([...SEARCH_ATTRIBUTES]);
  expect(valuesOf({ phase: 'failed', taskId: '\u0000', failure: 'NoVideo' })).toEqual([
    'none',
    'failed',
    'NoVideo',
  ]);
});

test('a job starts by submitting, unless it adopts a task', () => {
  const values = (job: Parameters<typeof firstSearchAttributes>[0]) =>
    firstSearchAttributes(job).map(({ value }) => value);
  expect(values({ request: { prompt: 'A fox' } })).toEqual(['none', 'submitting', 'none']);
  expect(values({ taskId: 'task_1' })).toEqual(['task_1', 'waiting', 'none']);
});

test('a task id that is longer than the server can store is cut', () => {
  expect(valuesOf({ phase: 'waiting', taskId: 'x'.repeat(255) })[0]).toBe('x'.repeat(255));
  expect(valuesOf({ phase: 'waiting', taskId: 'x'.repeat(256) })[0]).toBe(`${'x'.repeat(254)}…`);
});

test('a server that does not let them be registered is told as such, with who can', async () => {
  const addSearchAttributes = () =>
    Promise.reject(Object.assign(new Error('7 PERMISSION_DENIED: Request unauthorized.'), { code: 7 }));
  const operatorService = {
    listSearchAttributes: async () => ({ customAttributes: {} }),
    addSearchAttributes,
  };
  const connection = Object({ operatorService });
  await expect(registerSearchAttributes({ connection, namespace: 'films' })).rejects.toThrow(
    'to register VideoTaskId, VideoPhase, VideoOutcome as Keyword; in Temporal Cloud this is done in the Cloud UI or with tcld.',
  );
});
