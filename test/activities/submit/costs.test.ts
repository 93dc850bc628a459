import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ActivityWorld, createActivityWorld } from '../activity-world';

const usd = (amount: number) => ({ amount, currency: 'USD' });
const request = { prompt: 'A red fox', duration: 5 };
const profile = { name: 'Ark', prices: { currency: 'USD', table: [{ perSecond: 0.1 }] } };
const cost = { estimated: usd(0.5), service: 'Ark' };

let world: ActivityWorld;
beforeEach(async () => {
  world = await createActivityWorld({ charge: 0.45 });
});
afterEach(() => world.close());

const activities = () => world.activitiesAt(world.emulator.url, { profile });
function record(): Record<string, unknown> {
  const folder = join(world.folder, 'jobs');
  const [name = ''] = readdirSync(folder);
  return JSON.parse(readFileSync(join(folder, name), 'utf8'));
}

test('a submit returns what the video will cost and records it with its service and time', async () => {
  // There is no workflow to tell: the submit goes on.
  const task = await world.run(activities().submitVideo, { request, takesCost: true }).result;
  expect(task.cost).toEqual(cost);
  expect(record()).toMatchObject({
    state: 'submitted',
    cost,
    service: 'Ark',
    submittedAt: expect.any(String),
  });
});

test('a workflow of an earlier version gets no cost, and the record has it all the same', async () => {
  const { submitVideo, pollVideo } = activities();
  const task = await world.run(submitVideo, { request }).result;
  expect(task).not.toHaveProperty('cost');
  expect(record()).toMatchObject({ cost });
  const { taskId } = task;
  expect(JSON.stringify(await world.run(pollVideo, { taskId }).result)).not.toContain('charged');
  expect(await world.run(pollVideo, { taskId, takesCost: true }).result).toMatchObject({
    charged: usd(0.45),
  });
});

test('a job that finds its task on record finds what it cost there, whatever the prices are now', async () => {
  const { submitVideo, downloadVideo } = activities();
  const { taskId, record: id } = await world.run(submitVideo, { request, takesCost: true }).result;
  const paid = { ...cost, charged: usd(0.45) };
  await world.run(downloadVideo, { taskId, record: id, cost: paid }).result;
  const dearer = { ...profile, prices: { currency: 'USD', table: [{ perSecond: 9 }] } };
  const again = world.activitiesAt(world.emulator.url, { profile: dearer }).submitVideo;
  expect(await world.run(again, { request, takesCost: true }).result).toMatchObject({
    taskId,
    isStored: true,
    cost: paid,
  });
});

test('a record from before costs is read, and the task has the estimate of today', async () => {
  const { taskId } = await world.run(world.activities.submitVideo, { request }).result;
  expect(record()).not.toHaveProperty('cost');
  expect(await world.run(activities().submitVideo, { request, takesCost: true }).result).toMatchObject({
    taskId,
    cost,
  });
});
