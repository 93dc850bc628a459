import { ApplicationFailure } from '@temporalio/common';
import type { FailureType } from '../../../src/contract/failure-table';
import { LOST_SUBMIT_POLICIES, type LostSubmitPolicy } from '../../../src/contract/lost-submit';
import type { VideoService } from '../../../src/service';
import { type ActivityWorld, createActivityWorld } from '../../activities/activity-world';
import { COURSES, LATER, SUBMITS } from '../../activities/fault-tables';
import {
  type Fault,
  isRead,
  startUnreadAddresses,
  type UnreadAddresses,
} from '../../activities/faulty-service';
import { atLength } from '../../support/nightly';
import { atFaultyProvider, type FaultyProvider, pollAt, submitTo } from './faulty-provider';
import { taskIdOf } from './packages';
import { ONE_OF_EACH_STYLE, PROVIDER_NAMES, PROVIDERS, type ProviderName } from './what-runs';

const NAMES = atLength(ONE_OF_EACH_STYLE, PROVIDER_NAMES);
/** The same code applies the policies to every service. */
const POLICIES = atLength<readonly LostSubmitPolicy[]>(['hold'], LOST_SUBMIT_POLICIES);

let unread: UnreadAddresses & { close(): Promise<void> };
let world: ActivityWorld;
beforeAll(async () => {
  unread = await startUnreadAddresses();
  world = await createActivityWorld();
});
afterAll(async () => {
  await unread.close();
  await world.close();
});

const atProvider = (name: ProviderName, work: (at: FaultyProvider) => Promise<void>) =>
  atFaultyProvider(name, unread, work);

const submit = (name: ProviderName, service: VideoService, onLostSubmit: LostSubmitPolicy) =>
  submitTo(name, service, { world, onLostSubmit });

const CELLS = NAMES.flatMap((name) =>
  SUBMITS.flatMap(([fault, failure, otherwise, resubmit]) =>
    POLICIES.map(
      (policy) => [name, fault, policy, policy === 'resubmit' ? resubmit : otherwise, failure] as const,
    ),
  ),
);

test.each(CELLS)(
  '@ai-sdk/%s: %s of a submit, on lost submit %s: %s',
  async (name, fault, policy, course, failure) => {
    await atProvider(name, async ({ service, imitated, submits, next }) => {
      next('submit', fault);
      const { end, failures } = await submit(name, service, policy);
      const { ends, ...counted } = COURSES[course];
      expect({ posts: submits(), tasks: imitated.tasks().length }).toEqual(counted);
      const arrived = imitated.calls().filter(({ call }) => call === 'submit').length;
      expect(arrived).toBe(isRead(fault) ? counted.posts : counted.posts - 1);
      expect(failures).toEqual([failure]);
      if (end instanceof ApplicationFailure) {
        expect(failures.at(-1)).toBe(ends);
        return;
      }
      const task = imitated.tasks().at(-1);
      expect([end.taskId, ends]).toEqual([task && taskIdOf(name, imitated.idOf(task), imitated), 'task']);
    });
  },
);

/**
 * fal answers with a 4xx when a task has failed, so there such an answer is the end of the task. The operation of Replicate is a
 * link to the service, and the package follows it nowhere else.
 */
const LEFT_OUT: Partial<Record<ProviderName, Fault[]>> = {
  fal: [422],
  replicate: ['refused', 'reset before bytes', 'reset unread'],
};

const POLLS = NAMES.flatMap((name) =>
  LATER.flatMap(([fault, call, failure]) =>
    call === 'poll' && failure !== 'recovered' && !LEFT_OUT[name]?.includes(fault)
      ? [[name, fault, failure] as [ProviderName, Fault, FailureType]]
      : [],
  ),
);

test.each(POLLS)(
  '@ai-sdk/%s: %s of a poll is %s, never the failure of the task',
  async (name, fault, failure) => {
    await atProvider(name, async ({ service, next }) => {
      const { end } = await submit(name, service, 'hold');
      if (end instanceof ApplicationFailure) throw end;
      next('status', fault);
      const { taskId } = end;
      const ended = await pollAt(service, world, taskId);
      expect(ended.failures).toEqual([failure]);
      expect(ended.end).toMatchObject({ state: 'succeeded' });
    });
  },
);

test('one package of each style is among them', () => {
  const styles = (names: readonly ProviderName[]) => new Set(names.map((name) => PROVIDERS[name].calls));
  expect(styles(ONE_OF_EACH_STYLE)).toEqual(styles(PROVIDER_NAMES));
});
