import {
  createFindTools,
  createRouteJob,
  type FindTools,
  type ServiceTools,
  toolsFor,
} from '../../activities/service-tools';
import { ServiceDirectory, type ServiceDirectoryOptions, type VideoService } from '../../src/service';
import { failureOf, startAttempt } from './activity-world';

const serviceAt = (address?: string, profile = {}) =>
  ({ address, profile, start: () => undefined }) as object as VideoService;
const UNNAMED = serviceAt('https://video.example.com/');
const VEO = serviceAt('https://veo.example.com/');
const BOTH = { service: UNNAMED, services: { veo: VEO }, defaultService: 'veo' };

const findIn = (options: ServiceDirectoryOptions) => createFindTools(new ServiceDirectory(options));

function known(found: ReturnType<FindTools>): ServiceTools {
  if ('problem' in found) throw new Error(found.problem);
  return found;
}

describe('the tools of a service', () => {
  test('are those of the default for a new task, and of the service without a name for one that has begun', () => {
    const find = findIn(BOTH);
    expect(known(find(undefined, 'new task')).service).toBe(VEO);
    expect(known(find(undefined)).service).toBe(UNNAMED);
  });

  test('are equal each time, and all services share what is learned', () => {
    const find = findIn(BOTH);
    expect(known(find('veo'))).toEqual(find(undefined, 'new task'));
    expect(known(find('veo')).rateLimiter).not.toBe(known(find(undefined)).rateLimiter);
    expect(known(find('veo')).pollPlan.learned).toBe(known(find(undefined)).pollPlan.learned);
  });

  test('are not those of another one when the worker has none of that name', async () => {
    const problem = 'this worker has no service kling: name one of veo';
    const find = findIn(BOTH);
    expect(find('kling')).toEqual({ problem });
    const route = createRouteJob(find, { submit: 'films-submit' });
    expect(await route({ service: 'kling' })).toEqual({ submit: 'films-submit', problem });
    expect(await route({ service: 'veo' })).toEqual({ submit: 'films-submit' });
    expect(await route({})).toEqual({ submit: 'films-submit' });
  });
});

describe('times are learned', () => {
  const planAt = (service: VideoService | undefined, name: string | undefined) => {
    const found = findIn({ service, ...(name && { services: { [name]: service ?? UNNAMED } }) });
    return known(found(name)).pollPlan;
  };

  test.each([
    ['a service without a name by its address', undefined, UNNAMED, 'https://video.example.com/'],
    ['a named one by both', 'veo', VEO, 'veo at https://veo.example.com/'],
    ['a named one without an address by its name', 'veo', serviceAt(undefined), 'veo'],
  ])('of %s', (_what, name, service, learnedAs) => {
    const plan = planAt(service, name);
    const kind = String(plan.kindOf({ prompt: 'A red fox' }));
    plan.learned.learn({ kind, afterMs: 1_000, byMs: 2_000 });
    expect(plan.learned.endedOf(`${learnedAs} text`)).toEqual([1_500]);
  });
});

describe('a task of a service that this worker lacks', () => {
  test('fails the call, and another worker may have it', async () => {
    const attempt = startAttempt(async () => void toolsFor(findIn(BOTH), 'kling', 'poll'), undefined);
    const { failure, details } = await failureOf(attempt);
    expect([failure.type, failure.nonRetryable]).toEqual(['ServiceUnreachable', false]);
    expect(details.message).toBe('this worker has no service kling: name one of veo');
  });

  test('nothing fails when the worker has it', async () => {
    const use = async () => toolsFor(findIn(BOTH), undefined, 'poll').service;
    expect(await startAttempt(use, undefined).result).toEqual(UNNAMED);
  });
});
