import { randomUUID } from 'node:crypto';
import { ApplicationFailure } from '@temporalio/common';
import { createVideoActivities } from '../../../activities';
import { aiSdkService } from '../../../src/ai-sdk';
import type { FailureType } from '../../../src/contract/failure-table';
import { LOST_SUBMIT_POLICIES, type LostSubmitPolicy } from '../../../src/contract/lost-submit';
import type { VideoService } from '../../../src/service';
import { createFileStorage } from '../../../src/storage';
import { type ActivityWorld, attemptUntilEnd, createActivityWorld } from '../../activities/activity-world';
import { COURSES, LATER, SUBMITS } from '../../activities/fault-tables';
import {
  ANSWERS,
  type Fault,
  isRead,
  startUnreadAddresses,
  type UnreadAddresses,
} from '../../activities/faulty-service';
import { atLength } from '../../support/nightly';
import { PACKAGES } from './packages';
import { type ImitatedService, startImitatedService } from './servers';
import { ONE_OF_EACH_STYLE, PROVIDER_NAMES, PROVIDERS, type ProviderName } from './what-runs';

const NAMES = atLength(ONE_OF_EACH_STYLE, PROVIDER_NAMES);
/** `fail` sends what `hold` sends. */
const POLICIES = atLength<readonly LostSubmitPolicy[]>(['hold', 'resubmit'], LOST_SUBMIT_POLICIES);

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

/** A package whose next request meets a fault, and the service that it calls. */
interface FaultyProvider {
  service: VideoService;
  imitated: ImitatedService;
  /** How many submits were tried. Those that arrived are among the calls of the service. */
  submits(): number;
  /** A fault for the next request of a kind. */
  next(call: 'submit' | 'status', fault: Fault): void;
}

const prompt = 'A red fox';

async function atProvider(name: ProviderName, work: (at: FaultyProvider) => Promise<void>): Promise<void> {
  const { imitation, modelAt } = PACKAGES[name];
  const imitated = await startImitatedService(imitation, { jobTimeMs: 0 });
  let detour: string | undefined;
  let submits = 0;
  // The function is called for each call of the service, so the next call alone can go elsewhere.
  const service = aiSdkService(
    (given) => {
      const origin = detour ?? imitated.origin;
      detour = undefined;
      return modelAt({ ...imitated, origin, baseUrl: `${origin}${imitation.basePath}` })(given);
    },
    // A hang lasts as long as this.
    { downloadAllow: ['127.0.0.1'], timeouts: { submit: QUICK, poll: QUICK } },
  );
  const counted: VideoService = {
    profile: service.profile,
    submit(...args) {
      submits += 1;
      return service.submit(...args);
    },
    poll: (...args) => service.poll(...args),
    openVideo: (...args) => service.openVideo(...args),
    cancel: (...args) => service.cancel(...args),
    close: () => service.close(),
  };
  const next: FaultyProvider['next'] = (call, fault) => {
    if (isRead(fault)) imitated.next(prompt, call, ANSWERS[fault]);
    else detour = unread[fault];
  };
  try {
    await work({ service: counted, imitated, submits: () => submits, next });
    expect(imitated.scriptIsSpent()).toBe(true);
    expect(detour).toBeUndefined();
    expect(imitated.calls().filter(({ call }) => call === 'other')).toEqual([]);
  } finally {
    await service.close();
    await imitated.close();
  }
}

const QUICK = { headersTimeout: 300, bodyTimeout: 300 };

/** The activities of a new worker, whose rate limiter knows of no earlier 429. */
const activitiesOf = (service: VideoService) =>
  createVideoActivities({ service, storage: createFileStorage(world.folder) });

function submit(name: ProviderName, service: VideoService, onLostSubmit: LostSubmitPolicy) {
  const request = { prompt, ...PACKAGES[name].asked };
  const input = { request, job: randomUUID(), onLostSubmit };
  const activityId = randomUUID();
  return attemptUntilEnd((info) =>
    world.run(activitiesOf(service).submitVideo, input, { activityId, ...info }),
  );
}

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
      expect([end.taskId, ends]).toEqual([
        task && PACKAGES[name].taskIdOf(imitated.idOf(task), imitated),
        'task',
      ]);
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
      const ended = await attemptUntilEnd((info) =>
        world.run(activitiesOf(service).pollVideo, { taskId }, info),
      );
      expect(ended.failures).toEqual([failure]);
      expect(ended.end).toMatchObject({ state: 'succeeded' });
    });
  },
);

test('one package of each style is among them', () => {
  const styles = (names: readonly ProviderName[]) => new Set(names.map((name) => PROVIDERS[name].calls));
  expect(styles(ONE_OF_EACH_STYLE)).toEqual(styles(PROVIDER_NAMES));
});
