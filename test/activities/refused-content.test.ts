import type { VideoActivities } from '../../activities';
import { createVideoActivities } from '../../activities';
import type { FailureDetails } from '../../src/contract/failure-details';
import { CONTENT_STAGES, type ContentStage, type RefusedContent } from '../../src/contract/failure-details';
import type { VideoRequest } from '../../src/contract/request';
import { builtInProfile, ServiceFault, type VideoService } from '../../src/service';
import { createFileStorage } from '../../src/storage';
import { DIALECT_NAMES, type DialectName, dialectOf } from '../dialects';
import { type ActivityWorld, asJob, createActivityWorld, failureOf, startAttempt } from './activity-world';

const IMAGE: VideoRequest = { prompt: 'A red fox', image_url: 'https://example.com/fox.png' };
const TEXT: VideoRequest = { prompt: 'A red fox' };
const JOB_TIME_MS = 60_000;

const PROMPT: RefusedContent = { stage: 'prompt', field: 'prompt' };
const OF_IMAGE: RefusedContent = { stage: 'image', field: 'image_url' };
const OUTPUT: RefusedContent = { stage: 'output' };
const USUAL: Record<ContentStage, RefusedContent> = { prompt: PROMPT, image: OF_IMAGE, output: OUTPUT };

/** Where a service says less than what was refused, or more. */
const SAID: Partial<Record<DialectName, Partial<Record<ContentStage, RefusedContent>>>> = {
  runway: {
    prompt: { ...PROMPT, charged: true },
    image: { ...OF_IMAGE, charged: true },
    output: { ...OUTPUT, charged: true },
  },
  replicate: { prompt: {}, image: {} },
  openai: { prompt: {}, output: {} },
  veo: { output: OUTPUT },
  luma: { image: {} },
  kling: { prompt: {}, image: {} },
  vidu: { image: OF_IMAGE },
  dashscope: { prompt: {}, image: {} },
  wavespeed: { prompt: {}, image: {}, output: {} },
  kie: { output: {} },
  pixverse: { prompt: {}, image: {}, output: {} },
  higgsfield: {
    prompt: { ...PROMPT, charged: false },
    image: { ...OF_IMAGE, charged: false },
    output: { ...OUTPUT, charged: false },
  },
  inworld: {},
};

/** The dialects that accept the submit and refuse by the task, of each stage. */
const BY_TASK: Record<ContentStage, DialectName[]> = {
  prompt: [
    'runway',
    'fal',
    'replicate',
    'openai',
    'luma',
    'wavespeed',
    'kie',
    'pixverse',
    'evolink',
    'higgsfield',
  ],
  image: [
    'runway',
    'fal',
    'replicate',
    'veo',
    'luma',
    'wavespeed',
    'kie',
    'pixverse',
    'new-api',
    'evolink',
    'higgsfield',
  ],
  output: [...DIALECT_NAMES],
};

describe.each([...DIALECT_NAMES])('at a service that answers like %s,', (dialect) => {
  let nowMs = 0;
  let world: ActivityWorld;
  let activities: VideoActivities;
  beforeAll(async () => {
    nowMs = 0;
    world = await createActivityWorld({
      dialect: dialectOf(dialect),
      jobTimeMs: JOB_TIME_MS,
      clock: () => nowMs,
    });
    // Veo itself takes no images by their links, which its profile knows.
    const profile = dialect === 'veo' ? undefined : builtInProfile(dialect);
    activities = world.activitiesAt(world.emulator.url, { profile });
  });
  afterAll(() => world.close());

  /** What the job gets to know, by the submit or by the poll after its end. */
  async function refuse(stage: ContentStage): Promise<{ at: 'submit' | 'task'; details: FailureDetails }> {
    const { submitVideo, pollVideo, downloadVideo } = activities;
    world.emulator.next('submit', { kind: 'refused-content', stage });
    const generations = world.emulator.generations().length;
    const attempt = world.run(submitVideo, { request: IMAGE }, asJob());
    const submitted = await attempt.result.catch(() => undefined);
    if (submitted === undefined) {
      const { failure, details } = await failureOf(attempt);
      expect(failure).toMatchObject({ type: 'ContentRefused', nonRetryable: true });
      expect(attempt.beats.at(-1)).toMatchObject({ attemptWithoutTask: 1 });
      expect(world.emulator.generations()).toHaveLength(generations);
      return { at: 'submit', details };
    }
    nowMs += JOB_TIME_MS;
    const { taskId } = submitted;
    const status = await world.run(pollVideo, { taskId }).result;
    if (status.state !== 'failed') throw new Error(`${stage} is ${status.state}`);
    const { code, message, refused } = status;
    const { failure, details } = await failureOf(world.run(downloadVideo, { taskId }));
    expect(failure).toMatchObject({ type: 'ContentRefused', nonRetryable: true });
    expect(details).toMatchObject({ taskId, ...refused, ...(code && { code }), ...(message && { message }) });
    return { at: 'task', details: { code, message, ...refused } };
  }

  it.each(CONTENT_STAGES)('the refused %s is told apart from a fault', async (stage) => {
    const { at, details } = await refuse(stage);
    expect(at).toBe(BY_TASK[stage].includes(dialect) ? 'task' : 'submit');
    const { stage: found, field, charged } = details;
    const expected = SAID[dialect]?.[stage] ?? USUAL[stage];
    expect({ found, field, charged }).toEqual({
      found: expected.stage,
      field: expected.field,
      charged: expected.charged,
    });
  });
});

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
