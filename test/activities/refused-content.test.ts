import { createVideoActivities } from '../../activities';
import type { VideoRequest } from '../../src/contract/request';
import { ServiceFault, type VideoService } from '../../src/service';
import { createFileStorage } from '../../src/storage';
import { type ActivityWorld, asJob, createActivityWorld, failureOf, startAttempt } from './activity-world';

const TEXT: VideoRequest = { prompt: 'A red fox' };

describe('a submit whose content is refused', () => {
  let world: ActivityWorld;
  beforeAll(async () => {
    world = await createActivityWorld();
  });
  afterAll(() => world.close());
  const refused = (status: number, code = 'content_policy_violation') =>
    world.emulator.next('submit', { kind: 'refused', status, code, message: 'no foxes' });
  const submit = (more = {}, info = {}) =>
    world.run(world.activities.submitVideo, { request: TEXT, ...more }, { ...asJob(), ...info });

  it.each([400, 403, 413, 418, 422, 451])(
    'with HTTP %d has the service’s own code and message',
    async (status) => {
      refused(status);
      const { failure, details } = await failureOf(submit());
      expect([failure.type, failure.nonRetryable]).toEqual(['ContentRefused', true]);
      expect(details).toEqual({
        status,
        code: 'content_policy_violation',
        message: 'no foxes',
        stage: 'prompt',
        field: 'prompt',
        attempt: 1,
      });
      expect(failure.message).toContain('The content policy of the service refused the prompt: HTTP');
    },
  );

  it.each([
    [401, 'Unauthorized'],
    [402, 'Unauthorized'],
    [404, 'AnswerUnreadable'],
    [409, 'SubmitUnconfirmed'],
    [429, 'RateLimited'],
    [500, 'ServiceFailed'],
    [502, 'SubmitUnconfirmed'],
  ])('with HTTP %d is %s, whatever its code', async (status, type) => {
    refused(status);
    const { failure, details } = await failureOf(submit());
    expect(failure.type).toBe(type);
    expect(details).not.toHaveProperty('stage');
  });

  it('is refused also when the service may know its key, and mentions a submit that was lost before', async () => {
    refused(422);
    const resubmitted = await failureOf(submit({ repeats: ['send-1'] }));
    expect(resubmitted.failure.type).toBe('ContentRefused');
    const lost = { heartbeatDetails: { sends: [{ id: 'send-1', attempt: 1 }] }, attempt: 2 };
    refused(422);
    const { failure } = await failureOf(submit({ onLostSubmit: 'resubmit' }, lost));
    expect(failure.type).toBe('ContentRefused');
    expect(failure.message).toContain('a task may still exist');
  });

  it('stays a lost submit when its answer breaks off', async () => {
    world.emulator.next('submit', { kind: 'cut-body' });
    expect((await failureOf(submit())).failure.type).toBe('SubmitUnconfirmed');
  });

  it('is told by a service of a host’s own', async () => {
    const service: VideoService = {
      ...world.service,
      start: async () => {
        throw new ServiceFault('refused', {
          message: 'no',
          refusedContent: { stage: 'image', charged: false },
        });
      },
    };
    const { submitVideo } = createVideoActivities({ service, storage: createFileStorage(world.folder) });
    const { failure, details } = await failureOf(startAttempt(submitVideo, { request: TEXT }, asJob()));
    expect(failure.type).toBe('ContentRefused');
    expect(details).toMatchObject({ stage: 'image', charged: false });
    expect(failure.message).toContain('refused the image: no. The service charges nothing for it.');
  });
});
