import { POLLS_WITHOUT_TASK } from '../../src/contract/policies';
import { VideoFailure } from '../../src/contract/video-failure';
import { TaskObservations } from '../../workflows/task-observations';

const running = (percent?: number) => ({ state: 'running', word: 'rendering', percent }) as const;

test('the progress of a task is from the poll that first saw its percentage', () => {
  const observed = new TaskObservations();
  observed.recordStatus(running(), 5_000);
  expect(observed.progress).toBeUndefined();
  observed.recordStatus(running(40), 10_000);
  observed.recordStatus(running(40), 20_000);
  observed.recordStatus(running(30), 30_000);
  expect(observed.progress).toEqual({ percent: 40, atMs: 10_000 });
  observed.recordStatus(running(41), 40_000);
  expect(observed.progress).toEqual({ percent: 41, atMs: 40_000 });
  // What is shown is what the service says now.
  observed.recordStatus(running(35), 50_000);
  expect(observed).toMatchObject({ polls: 6, task: { percent: 35 } });
});

test('a task is missing after polls in a row that did not find it', () => {
  const observed = new TaskObservations();
  const miss = () => observed.recordPollFailure(new VideoFailure('TaskUnknown'));
  for (let poll = 1; poll < POLLS_WITHOUT_TASK; poll++) miss();
  observed.recordPollFailure(new VideoFailure('RateLimited'));
  for (let poll = 1; poll < POLLS_WITHOUT_TASK; poll++) miss();
  expect(observed.isMissing).toBe(false);
  miss();
  expect(observed.isMissing).toBe(true);
});
