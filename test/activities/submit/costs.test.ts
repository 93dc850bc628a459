import { asJob, failureOf } from '../activity-world';
import { REQUEST, useSubmitWorld } from './submit-world';

const usd = (amount: number) => ({ amount, currency: 'USD' });
const pricedAt = (perSecond: number) => ({
  name: 'Ark',
  prices: { currency: 'USD', table: [{ perSecond }] },
});
const cost = { estimated: usd(0.5), service: 'Ark' };

const here = useSubmitWorld();
const submitAt = (perSecond: number) => {
  const service = here.serviceAt(here.emulator.url, { profile: pricedAt(perSecond) });
  return here.submit({}, { deps: { service } }).result;
};

test('a submit returns what the video will cost, and records it with the send and with the task', async () => {
  expect(await submitAt(0.1)).toMatchObject({ cost });
  expect((await here.read()).entries).toMatchObject([
    { event: 'sending', cost },
    { event: 'task', cost },
  ]);
});

test('a job that finds its task on record finds what it cost there, whatever the prices are now', async () => {
  const { taskId } = await submitAt(0.1);
  const paid = { ...cost, charged: usd(0.45) };
  const { downloadVideo } = here.worker();
  await here.run(downloadVideo, { taskId, record: here.record.id, cost: paid }, asJob(here.job)).result;
  expect(await submitAt(9)).toMatchObject({ taskId, isStored: true, cost: paid });
});

test('a submit that is recalled costs what its record says, with the lost submits that it repeats', async () => {
  here.emulator.next('submit', { kind: 'reset' });
  const lost = here.submit({ onLostSubmit: 'resubmit' });
  await failureOf(lost);
  const service = here.serviceAt(here.emulator.url, { profile: pricedAt(0.1) });
  const info = { attempt: 2, heartbeatDetails: lost.beats.at(-1) };
  await here.submit({ onLostSubmit: 'resubmit' }, { info, deps: { service } }).result;
  const { recallSubmit } = here.worker({ service });
  expect(await here.run(recallSubmit, { request: REQUEST }, asJob(here.job)).result).toMatchObject({
    task: { cost: { ...cost, lostSubmits: 1 } },
  });
});

test('a task whose cost is not on record has the estimate of today', async () => {
  const { taskId } = await here.submit({ request: REQUEST }).result;
  expect((await here.read()).task).not.toHaveProperty('cost');
  expect(await submitAt(0.1)).toMatchObject({ taskId, cost });
});
