import { readdirSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createVideoActivities, type VideoActivities } from '../../activities';
import { readSetting } from '../../src/config/settings';
import type { VideoRequest } from '../../src/contract/request';
import { builtInProfile, type ServiceProfile, type VideoService } from '../../src/service';
import { checkImage, createFileStorage, storeImage } from '../../src/storage';
import { type DialectName, dialectOf } from '../dialects';
import { OWN_INTERFACES } from '../dialects/own-interfaces';
import { PROVIDER_REQUESTS } from '../service/provider-requests';
import { startImageServer } from '../support/image-server';
import { PNG, sha256Of } from '../support/images';
import { recordsIn } from '../support/stored-files';
import { type ActivityWorld, asJob, attemptUntilEnd, createActivityWorld, failureOf } from './activity-world';

const EXAMPLES = join(__dirname, '../../examples/profiles');
const examples = readdirSync(EXAMPLES).map((file) => basename(file, '.yaml'));
const exampleProfile = (name: string) =>
  readSetting('VIDEOGEN_PROFILE', { VIDEOGEN_PROFILE: join(EXAMPLES, `${name}.yaml`) }) ?? {};

let world: ActivityWorld;
let activities: VideoActivities;
let service: VideoService;
let nowMs: number;
async function startAt(dialect: DialectName, profile: ServiceProfile): Promise<void> {
  nowMs = 0;
  world = await createActivityWorld({ dialect: dialectOf(dialect), jobTimeMs: 60_000, clock: () => nowMs });
  service = world.serviceAt(world.emulator.url, { profile });
  activities = createVideoActivities({ service, storage: createFileStorage(world.folder) });
}

/** The profile of a service, and an example of it if it has one. */
const profilesOf = (dialect: string): [string, ServiceProfile][] => {
  const builtIn = builtInProfile(dialect);
  return [
    ...(builtIn?.request ? [[`built-in ${dialect}`, builtIn] as [string, ServiceProfile]] : []),
    ...(examples.includes(dialect)
      ? [[`${dialect}.yaml`, exampleProfile(dialect)] as [string, ServiceProfile]]
      : []),
  ];
};
const CASES = PROVIDER_REQUESTS.flatMap((given) =>
  profilesOf(given.dialect).map(([profile, rules]) => ({ ...given, profile, rules })),
);

describe('the example profiles', () => {
  test('are of services whose requests are known, each of which has a profile that sends them', () => {
    const covered = new Set(CASES.map(({ dialect }) => dialect));
    expect([...covered].sort()).toEqual(Object.keys(OWN_INTERFACES).sort());
    expect(examples.filter((name) => !Object.hasOwn(OWN_INTERFACES, name))).toEqual([]);
  });
});

describe('at a service with requests of its own,', () => {
  afterEach(() => world.close());

  test.each(CASES)(
    'with $profile, a job sends $path what the service wants, and stores the video',
    async ({ dialect, path, body, means, rules }) => {
      await startAt(dialect, rules);
      const { submitVideo, pollVideo, downloadVideo } = activities;
      const model = Reflect.get(body, 'model') ?? Reflect.get(body, 'model_name');
      const request = rules.requestFields ? { ...means, model } : means;
      const { taskId } = await world.run(submitVideo, { request }).result;
      expect(world.emulator.calls).toMatchObject([{ call: 'submit', path, body, authorized: true }]);
      expect(world.emulator.generations()).toMatchObject([{ request: means }]);
      // What is on record is what the caller asked for.
      const [record = ''] = await recordsIn(world.folder);
      expect(JSON.parse(readFileSync(join(world.folder, record), 'utf8')).request).toEqual(request);

      expect((await world.run(pollVideo, { taskId }).result).state).toMatch(/^(queued|running|unknown)$/);
      nowMs += 60_000;
      expect(await world.run(pollVideo, { taskId }).result).toMatchObject({
        state: 'succeeded',
        hasVideo: true,
      });
      const { video } = await world.run(downloadVideo, { taskId, storage: 'fox.mp4' }).result;
      const [task] = world.emulator.generations();
      const file = await readFile(fileURLToPath(video.uri));
      expect(file.equals(await world.emulator.video(task?.taskId ?? ''))).toBe(true);
      expect(world.emulator.calls.filter(({ status = 0 }) => status >= 400)).toEqual([]);
    },
  );

  test.each([
    [
      'openai',
      { prompt: 'A red fox', resolution: '1080p' },
      'resolution must be one of 720p 16:9, 720p 9:16, 720p, 9:16, 16:9 for OpenAI videos (was "1080p")',
    ],
    [
      'openai',
      { prompt: 'A red fox', duration: 5 },
      'duration must be one of 4, 8 for OpenAI videos (was 5)',
    ],
    ['kling', { prompt: 'A red fox', seed: 7 }, 'seed is not taken by Kling: leave it out'],
    [
      'veo',
      { prompt: 'A red fox', image_url: 'https://example.com/a.png' },
      'image_url is not taken by Google Veo',
    ],
  ] as const)('%s refuses %j before anything is sent', async (name, request, problem) => {
    await startAt(name, builtInProfile(name) ?? {});
    const attempt = world.run(activities.submitVideo, { request });
    const { failure, details } = await failureOf(attempt);
    expect([failure.type, failure.nonRetryable]).toEqual(['InvalidRequest', true]);
    expect(details.message).toContain(problem);
    expect(attempt.beats.at(-1)).toEqual({ attemptWithoutTask: 1 });
    expect(world.emulator.calls).toEqual([]);
  });

  test('fal tells of a failed task and of refused content only when it is asked for the link', async () => {
    await startAt('fal', exampleProfile('fal'));
    const request: VideoRequest = { prompt: 'A red fox' };
    world.emulator.next(
      'submit',
      { kind: 'failed-task', code: 'foxes', message: 'too many foxes' },
      { kind: 'refused-content', stage: 'prompt' },
      { kind: 'refused-content', stage: 'output' },
    );
    const ended = [];
    for (const job of ['failed', 'prompt', 'output']) {
      const { taskId } = await world.run(activities.submitVideo, { request }, asJob(job)).result;
      nowMs += 60_000;
      ended.push(await world.run(activities.pollVideo, { taskId }).result);
    }
    expect(ended).toMatchObject([
      { state: 'failed', message: 'too many foxes' },
      { state: 'failed', refused: { stage: 'prompt' } },
      { state: 'failed', refused: { stage: 'output' } },
    ]);
    expect(ended[0]).not.toHaveProperty('refused');
  });

  describe('a request in the words of a service', () => {
    const request: VideoRequest = { prompt: 'A red fox', duration: 5 };
    // Each attempt with a rate limiter of its own, as if it came after the pause.
    const submit = (more = {}) =>
      attemptUntilEnd((info) => {
        const { submitVideo } = createVideoActivities({ service, storage: createFileStorage(world.folder) });
        return world.run(submitVideo, { request, ...more }, { ...asJob('fox'), ...info });
      });
    const posts = () => world.emulator.calls.map(({ path, idempotencyKey }) => [path, idempotencyKey]);

    it('is sent once if its answer is lost, and again only if that is wanted', async () => {
      await startAt('kling', builtInProfile('kling') ?? {});
      world.emulator.next('submit', { kind: 'reset' });
      const { failures } = await submit();
      expect(failures).toEqual(['SubmitUnconfirmed']);
      expect(posts()).toHaveLength(1);
      const again = await submit({ onLostSubmit: 'resubmit' as const });
      expect(again.end).toMatchObject({ taskId: expect.any(String) });
      expect(posts()).toEqual([posts()[0], posts()[0]]);
      expect(posts()[0]?.[0]).toBe('/v1/videos/text2video');
    });

    it('is sent again after a 429, with the same idempotency key', async () => {
      await startAt('ark', builtInProfile('ark') ?? {});
      world.emulator.next('submit', { kind: 'rate-limited' });
      const { end, failures } = await submit();
      expect(failures).toEqual(['RateLimited']);
      expect(end).toMatchObject({ taskId: expect.stringMatching(/^cgt-/) });
      expect(posts()).toEqual([posts()[0], posts()[0]]);
      expect(world.emulator.generations()).toHaveLength(1);
    });

    it('has the link to an uploaded image where the service looks for it, and nothing else has it', async () => {
      nowMs = 0;
      world = await createActivityWorld({ dialect: dialectOf('ark'), fetchImages: true, clock: () => nowMs });
      const storage = createFileStorage(world.folder);
      const image = checkImage(PNG, 'shop');
      await storeImage(storage, image);
      const { url, close } = await startImageServer(storage);
      service = world.serviceAt(world.emulator.url, { profile: builtInProfile('ark') });
      const { submitVideo } = createVideoActivities({ service, storage, gatewayUrl: url });
      await world.run(submitVideo, { request: { ...request, image_url: image.url } }).result;
      await close();
      const [task] = world.emulator.generations();
      expect(task?.image).toMatchObject({ sha256: sha256Of(PNG) });
      expect(world.emulator.calls).toMatchObject([
        {
          body: {
            content: [{ type: 'text' }, { type: 'image_url', image_url: { url: task?.request.image_url } }],
          },
        },
      ]);
      const records = (await recordsIn(world.folder)).map((key) =>
        readFileSync(join(world.folder, key), 'utf8'),
      );
      expect(records.join()).toContain(image.url);
      expect(records.join() + world.everythingReported()).not.toContain(url);
    });
  });
});
