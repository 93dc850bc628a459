import { whileReportingProgress } from '../../../activities/attempt';
import { DOWNLOAD_PROGRESS_SIGNAL } from '../../../src/contract/names';
import { DOWNLOAD_PROGRESS_EVERY_MS } from '../../../src/contract/policies';
import { startAttempt } from '../activity-world';

beforeEach(() => jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate'] }));
afterEach(() => jest.useRealTimers());

/** Which signals a download sends that has so many bytes at each time to report, and its log. */
async function signalsDuring(
  bytes: number[],
  { info = {}, answer = async () => {} }: { info?: object; answer?: () => Promise<void> } = {},
) {
  const signals: unknown[] = [];
  const logged: unknown[] = [];
  const workflow = {
    getHandle: (workflowId: string, runId: string) => ({
      signal: (name: string, progress: unknown) => {
        signals.push([workflowId, runId, name, progress]);
        return answer();
      },
    }),
  };
  let now = 0;
  const work = async () => {
    for (const next of bytes) {
      now = next;
      await jest.advanceTimersByTimeAsync(DOWNLOAD_PROGRESS_EVERY_MS);
    }
    return 'done';
  };
  const attempt = startAttempt(
    () => whileReportingProgress(() => ({ bytes: now, of: 9, job: 'fox' }), work),
    undefined,
    { workflowExecution: { workflowId: 'foxes', runId: 'run' }, ...info },
    logged,
    { workflow },
  );
  expect(await attempt.result).toBe('done');
  const sent = signals.length;
  now++;
  await jest.advanceTimersByTimeAsync(DOWNLOAD_PROGRESS_EVERY_MS);
  expect(signals).toHaveLength(sent);
  return { signals, problems: logged.filter((line) => Object(line).event === 'progressNotReported') };
}

const signal = (bytes: number) => ['foxes', 'run', DOWNLOAD_PROGRESS_SIGNAL, { bytes, of: 9, job: 'fox' }];

it('a workflow is told how far its download is, whenever that has changed', async () => {
  const { signals } = await signalsDuring([1, 1, 2]);
  expect(signals).toEqual([signal(1), signal(2)]);
});

it('a download without a workflow tells nobody', async () => {
  const info = { workflowExecution: undefined, inWorkflow: false, activityId: 'alone' };
  expect(await signalsDuring([1, 2], { info })).toEqual({ signals: [], problems: [] });
});

it('a download goes on when its workflow cannot be told, and the log says why', async () => {
  const answer = () => Promise.reject(new Error('no\u001bsuch workflow'));
  const { signals, problems } = await signalsDuring([1, 2], { answer });
  expect(signals).toEqual([signal(1), signal(2)]);
  const problem = { error: 'Error: no such workflow' };
  expect(problems).toMatchObject([problem, problem]);
});
