import { randomUUID } from 'node:crypto';
import { createVideoActivities } from '../../../activities';
import { aiSdkService } from '../../../src/ai-sdk';
import type { LostSubmitPolicy } from '../../../src/contract/lost-submit';
import type { VideoRequest } from '../../../src/contract/request';
import type { OpenedVideoService, VideoService } from '../../../src/service';
import { createFileStorage } from '../../../src/storage';
import { type ActivityWorld, asJob, attemptUntilEnd } from '../../activities/activity-world';
import { ANSWERS, type Fault, isRead, type UnreadAddresses } from '../../activities/faulty-service';
import { originsOf, PACKAGES } from './packages';
import { IMITATIONS, type ImitatedService, startImitatedService } from './servers';
import type { ProviderName } from './what-runs';

/** A package whose next request meets a fault, and the service that it calls. */
export interface FaultyProvider {
  service: VideoService;
  imitated: ImitatedService;
  /** How many submits were tried. Those that arrived are among the calls of the service. */
  submits(): number;
  /** A fault for the next request of a kind. */
  next(call: 'submit' | 'status', fault: Fault): void;
  /** The key of all further calls. */
  useKey(apiKey: string): void;
}

/** The prompt of all its submits. */
export const prompt = 'A red fox';

/** Only for hangs, which last until then in real time. On a slow machine any other call would time out too. */
const IMPATIENT = { submit: 300, poll: 300 };

export async function atFaultyProvider(
  name: ProviderName,
  unread: UnreadAddresses | undefined,
  work: (at: FaultyProvider) => Promise<void>,
): Promise<void> {
  const imitation = IMITATIONS[name];
  const imitated = await startImitatedService(imitation, { jobTimeMs: 0 });
  let { apiKey } = imitated;
  let fault: Fault | undefined;
  let submits = 0;
  const services: OpenedVideoService[] = [];
  /** The service for one call, which meets the fault. */
  const forNextCall = async (): Promise<OpenedVideoService> => {
    const origin = (fault !== undefined && !isRead(fault) && unread?.[fault]) || imitated.origin;
    const source = PACKAGES[name].modelAt({ apiKey, origin, baseUrl: `${origin}${imitation.basePath}` });
    const service = aiSdkService(source, {
      downloadAllow: ['127.0.0.1'],
      origins: originsOf(name, { origin }),
      ...(fault === 'hang' && { timeouts: IMPATIENT }),
    });
    fault = undefined;
    services.push(service);
    return service;
  };
  const service: VideoService = {
    async start(...args) {
      submits += 1;
      return (await forNextCall()).start(...args);
    },
    status: async (...args) => (await forNextCall()).status(...args),
    open: async (...args) => (await forNextCall()).open(...args),
  };
  try {
    await work({
      service,
      imitated,
      submits: () => submits,
      next: (call, given) => {
        fault = given;
        if (isRead(given)) imitated.next(prompt, call, ANSWERS[given]);
      },
      useKey: (given) => {
        apiKey = given;
      },
    });
    expect(imitated.scriptIsSpent()).toBe(true);
    expect(fault).toBeUndefined();
  } finally {
    await Promise.all(services.map((one) => one.close()));
    await imitated.close();
  }
}

/** The activities of a new worker, whose rate limiter knows of no earlier 429. */
export const activitiesOf = (service: VideoService, { folder }: ActivityWorld) =>
  createVideoActivities({ service, storage: createFileStorage(folder) });

/** Submits as Temporal does, until the submit has ended. */
export function submitTo(
  name: ProviderName,
  service: VideoService,
  {
    world,
    onLostSubmit = 'hold',
    ...more
  }: { world: ActivityWorld; onLostSubmit?: LostSubmitPolicy; image_url?: string },
) {
  const request: VideoRequest = { prompt, ...PACKAGES[name].asked, ...more };
  const input = { request, onLostSubmit };
  const ofJob = { ...asJob(), activityId: randomUUID() };
  return attemptUntilEnd((info) =>
    world.run(activitiesOf(service, world).submitVideo, input, { ...ofJob, ...info }),
  );
}

/** Polls as Temporal does, until a poll was answered. */
export const pollAt = (service: VideoService, world: ActivityWorld, taskId: string) =>
  attemptUntilEnd((info) => world.run(activitiesOf(service, world).pollVideo, { taskId }, info));
