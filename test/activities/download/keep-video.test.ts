import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createVideoActivities } from '../../../activities';
import { expireVideos, type RemovingStorage, writeForgotten } from '../../../src/retention';
import { createFileStorage, type VideoStorage } from '../../../src/storage';
import { type ActivityWorld, createActivityWorld, failureOf } from '../activity-world';

const DAY_MS = 86_400_000;
const request = { prompt: 'A red fox' };

let world: ActivityWorld;
beforeEach(async () => {
  world = await createActivityWorld();
});
afterEach(() => world.close());

const storage = () => createFileStorage(world.folder) as RemovingStorage;
const json = async (key: string) => {
  const { text } = await import('node:stream/consumers');
  const stored = await storage().read(key);
  return stored && JSON.parse(await text(stored));
};

/** A whole job, as far as activities know it. */
async function makeVideo(
  job: string,
  keepFor?: string,
  worker: { keepFor?: string; storage?: VideoStorage } = {},
) {
  const activities = createVideoActivities({ service: world.service, storage: storage(), ...worker });
  const task = await world.run(activities.submitVideo, { request, job }).result;
  const download = { taskId: task.taskId, record: task.record, job, ...(keepFor && { keepFor }) };
  return { task, ...(await world.run(activities.downloadVideo, download).result) };
}

const marks = async () =>
  (await readdir(join(world.folder, 'jobs'))).filter((name) => name === 'keys' || name === 'expiry');

const daysUntil = (date: string | undefined) => Math.round((Date.parse(date ?? '') - Date.now()) / DAY_MS);

test('the date is in the result, the sidecar and the record, and the job’s own wins', async () => {
  const { video, task } = await makeVideo('fox', '30d', { keepFor: '1d' });
  expect(daysUntil(video.expiresAt)).toBe(30);
  expect((await json('fox.mp4.json')).video.expiresAt).toBe(video.expiresAt);
  expect((await json(`jobs/fox.${task.record}.json`)).video.expiresAt).toBe(video.expiresAt);
  expect(daysUntil((await makeVideo('owl', undefined, { keepFor: '1d' })).video.expiresAt)).toBe(1);
});

test('without it, nothing is written but what was written before', async () => {
  const { video } = await makeVideo('fox');
  expect(video).not.toHaveProperty('expiresAt');
  await makeVideo('owl', 'forever', { keepFor: '1d' });
  expect(await marks()).toEqual([]);
});

test('an expired video is downloaded again by the same job, and not paid again', async () => {
  const first = await makeVideo('fox', '1d');
  expect(await expireVideos(storage(), { nowMs: Date.now() + 2 * DAY_MS })).toMatchObject({ removed: 1 });
  expect(await world.files()).toEqual([]);
  const second = await makeVideo('fox', '3d');
  expect(second.task).not.toHaveProperty('isStored');
  expect([second.task.taskId, second.video.sha256]).toEqual([first.task.taskId, first.video.sha256]);
  expect(daysUntil(second.video.expiresAt)).toBe(3);
  expect(world.emulator.generations()).toHaveLength(1);
});

test('a video that is found again gets the later date, and none if it had none', async () => {
  await makeVideo('fox', '2d');
  expect(daysUntil((await makeVideo('fox', '1d')).video.expiresAt)).toBe(2);
  const renewed = await makeVideo('fox', '5d');
  expect(daysUntil(renewed.video.expiresAt)).toBe(5);
  await expireVideos(storage(), { nowMs: Date.now() + 3 * DAY_MS });
  expect(await world.files()).toContain('fox.mp4');
  expect((await makeVideo('fox', 'forever')).video).not.toHaveProperty('expiresAt');
  await expireVideos(storage(), { nowMs: Date.now() + 9 * DAY_MS });
  expect(await world.files()).toContain('fox.mp4');
  await makeVideo('owl');
  expect((await makeVideo('owl', '1d')).video).not.toHaveProperty('expiresAt');
});

test('a storage that cannot list and remove keeps the video, and the warnings say so', async () => {
  const { receive, write, read } = storage();
  const { video, warnings } = await makeVideo('fox', '1d', { storage: { receive, write, read } });
  expect(video).not.toHaveProperty('expiresAt');
  expect(warnings).toEqual(['keepFor has no effect, because the storage cannot list and remove files']);
});

test('a job that was forgotten is refused before anything is sent', async () => {
  const { task } = await makeVideo('fox');
  await writeForgotten(storage(), `jobs/fox.${task.record}.json`, { namespace: 'default' });
  const { submitVideo } = world.activities;
  const { failure } = await failureOf(world.run(submitVideo, { request, job: 'fox' }));
  expect([failure.type, failure.nonRetryable]).toEqual(['InvalidRequest', true]);
  expect(failure.message).toContain('fox was forgotten at ');
  expect(world.emulator.calls.filter(({ call }) => call === 'submit')).toHaveLength(1);
});
