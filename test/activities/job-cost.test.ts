import { estimatedCost, reportCost, serviceNameOf } from '../../activities/job-cost';
import { COST_SIGNAL } from '../../src/contract/names';
import { startAttempt } from './activity-world';

const COST = { estimated: { amount: 0.5, currency: 'USD' }, service: 'Ark' };

test.each([
  [
    'its name on the worker',
    { choice: { name: 'a' }, service: { profile: { name: 'Ark' }, address: 'https://ark.example' } },
    'a',
  ],
  [
    'the name in its profile',
    { service: { profile: { name: 'Ark' }, address: 'https://ark.example' } },
    'Ark',
  ],
  ['its host', { service: { profile: {}, address: 'https://ark.example/v1' } }, 'ark.example'],
  ['nothing, if it has no address', { service: {} }, undefined],
  ['nothing, if its address is none', { service: { address: 'here' } }, undefined],
])('a service is named by %s', (_what, found, name) => {
  expect(serviceNameOf(found)).toBe(name);
});

test('a service without prices has no estimate', () => {
  expect(estimatedCost({ service: { profile: { name: 'Ark' } } }, { prompt: 'x' })).toBeUndefined();
  expect(estimatedCost({ service: {} }, { prompt: 'x' })).toBeUndefined();
});

describe('what the video will cost', () => {
  const report = (signal: (...said: unknown[]) => Promise<void>, info = {}, reported: unknown[] = []) => {
    const getHandle = (workflowId: string, runId: string) => ({
      signal: (...said: unknown[]) => signal(workflowId, runId, ...said),
    });
    const client = {
      workflow: { getHandle },
    };
    const workflowExecution = { workflowId: 'fox', runId: 'run-1' };
    return startAttempt(() => reportCost(COST), undefined, { workflowExecution, ...info }, reported, client)
      .result;
  };

  test('is told to the run that submits', async () => {
    const told: unknown[] = [];
    await report(async (...said) => void told.push(said));
    expect(told).toEqual([['fox', 'run-1', COST_SIGNAL, { cost: COST }]]);
  });

  test('is told to nobody without a workflow', async () => {
    const told: unknown[] = [];
    await report(async () => void told.push('told'), { workflowExecution: undefined, inWorkflow: false });
    expect(told).toEqual([]);
  });

  test('keeps no submit from going on when it cannot be told', async () => {
    const reported: unknown[] = [];
    await report(() => Promise.reject(new Error('no route')), {}, reported);
    expect(JSON.stringify(reported)).toContain('no route');
  });
});
