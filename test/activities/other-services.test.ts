import { readdirSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { VideoActivities } from '../../activities';
import { readSetting } from '../../src/config/settings';
import type { VideoRequest } from '../../src/contract/request';
import { builtInProfile, type ServiceProfile } from '../../src/service';
import { DIALECT_NAMES, type DialectName, dialectOf } from '../dialects';
import { PROVIDER_REQUESTS } from '../service/provider-requests';
import { recordsIn } from '../support/stored-files';
import { type ActivityWorld, asJob, createActivityWorld, failureOf } from './activity-world';

const TEXT: VideoRequest = { prompt: 'A red fox' };
const IMAGE: VideoRequest = { ...TEXT, image_url: 'https://example.com/fox.png' };
const JOB_TIME_MS = 60_000;

let nowMs: number;
let world: ActivityWorld;
let activities: VideoActivities;
afterEach(() => world.close());

/** Begins at a service that answers like this one, with its profile unless there is another or none. */
async function startAt(dialect: DialectName, profile = builtInProfile(dialect)): Promise<void> {
  nowMs = 0;
  world = await createActivityWorld({
    dialect: dialectOf(dialect),
    jobTimeMs: JOB_TIME_MS,
    clock: () => nowMs,
  });
  activities = world.activitiesAt(world.emulator.url, { profile });
}
const submit = (request: VideoRequest, job?: string) =>
  world.run(activities.submitVideo, { request }, asJob(job));
const poll = (taskId: string) => world.run(activities.pollVideo, { taskId });

/** Polls a task until its video is there, and expects that this is what is stored. */
async function expectVideo(taskId: string, idAtService: string): Promise<void> {
  expect((await poll(taskId).result).state).toMatch(/^(queued|running|unknown)$/);
  nowMs += JOB_TIME_MS / 2;
  expect((await poll(taskId).result).state).toMatch(/^(running|unknown)$/);
  nowMs += JOB_TIME_MS;
  expect(await poll(taskId).result).toMatchObject({ state: 'succeeded', hasVideo: true });
  const input = { taskId, storage: `${taskId.slice(-9)}.mp4` };
  const { video } = await world.run(activities.downloadVideo, input).result;
  const file = await readFile(fileURLToPath(video.uri));
  expect(file.equals(await world.emulator.video(idAtService))).toBe(true);
}

/** The reasons of services that send no message. */
const REASONS: Partial<Record<DialectName, string>> = { vidu: '4711', pixverse: '8' };

test.each([...DIALECT_NAMES])(
  'a job at a service that answers like %s stores the video of its one task, or says why there is none',
  async (dialect) => {
    await startAt(dialect);
    // Veo takes no images by their links.
    const requests = dialect === 'veo' ? [TEXT] : [TEXT, IMAGE];
    for (const request of requests) {
      const { taskId } = await submit(request).result;
      // Kling polls tasks from images elsewhere, which their ids say.
      await expectVideo(taskId, taskId.replace(/^image-to-video:/, ''));
    }
    const asked = world.emulator
      .generations()
      .map(({ request: { prompt, image_url } }) => [prompt, image_url]);
    expect(asked).toEqual(requests.map(({ prompt, image_url }) => [prompt, image_url]));
    // Neither a cover nor a watermarked copy was downloaded as the video.
    expect(world.emulator.calls.filter(({ status = 0 }) => status >= 400)).toEqual([]);

    world.emulator.next('submit', { kind: 'failed-task', code: '4711', message: 'The prompt was moderated' });
    const { taskId } = await submit(TEXT).result;
    nowMs += JOB_TIME_MS;
    const failed = await poll(taskId).result;
    expect(failed.state).toBe('failed');
    expect(Object.values(failed)).toContain(REASONS[dialect] ?? 'The prompt was moderated');

    world.emulator.next('submit', { kind: 'refused', status: 400, message: 'no foxes' });
    const refused = await failureOf(submit(TEXT));
    expect(refused.failure).toMatchObject({ type: 'InvalidRequest', nonRetryable: true });
    expect(refused.failure.message).toContain('no foxes');
    world.emulator.next('status', { kind: 'refused', status: 401, message: 'no such key' });
    expect((await failureOf(poll(taskId))).failure.type).toBe('Unauthorized');
    world.emulator.next('submit', { kind: 'rate-limited', retryAfter: 5 });
    const limited = await failureOf(submit(TEXT));
    expect(limited.failure).toMatchObject({ type: 'RateLimited', nonRetryable: false });
    expect(limited.details.retryAfter).toBe(5);
    expect(world.emulator.generations()).toHaveLength(requests.length + 1);
    expect(world.everythingReported()).not.toContain('the answer is ambiguous');
  },
);

const EXAMPLES = join(__dirname, '../../examples/profiles');
const examples = readdirSync(EXAMPLES).map((file) => basename(file, '.yaml'));
const exampleProfile = (name: string) =>
  readSetting('VIDEOGEN_PROFILE', { VIDEOGEN_PROFILE: join(EXAMPLES, `${name}.yaml`) }) ?? {};

/** The profile of a service, and an example of it if it has one. */
const profilesOf = (dialect: string): [string, ServiceProfile][] => {
  const profiles: [string, ServiceProfile][] = [];
  const builtIn = builtInProfile(dialect);
  if (builtIn?.request) profiles.push([`built-in ${dialect}`, builtIn]);
  if (examples.includes(dialect)) profiles.push([`${dialect}.yaml`, exampleProfile(dialect)]);
  return profiles;
};
const CASES = PROVIDER_REQUESTS.flatMap((given) =>
  profilesOf(given.dialect).map(([profile, rules]) => ({ ...given, profile, rules })),
);

test.each(CASES)(
  'with $profile, a job sends $path what the service wants, and stores the video',
  async ({ dialect, path, body, means, rules }) => {
    await startAt(dialect, rules);
    const model = Reflect.get(body, 'model') ?? Reflect.get(body, 'model_name');
    const request = rules.requestFields ? { ...means, model } : means;
    const { taskId } = await submit(request).result;
    expect(world.emulator.calls).toMatchObject([{ call: 'submit', path, body, authorized: true }]);
    expect(world.emulator.generations()).toMatchObject([{ request: means }]);
    // What is on record is what the caller asked for.
    const [record = ''] = await recordsIn(world.folder);
    expect(JSON.parse(readFileSync(join(world.folder, record), 'utf8')).request).toEqual(request);
    await expectVideo(taskId, world.emulator.generations()[0]?.taskId ?? '');
  },
);
