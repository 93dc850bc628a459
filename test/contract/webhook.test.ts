import { webhookId } from '../../src/contract/names';
import { type WebhookDelivery, webhookPayload } from '../../src/contract/webhook';

const delivery: Omit<WebhookDelivery, 'id' | 'url'> = {
  event: 'video.completed',
  job: 'foxes',
  taskId: 'task-1',
  cost: { charged: { amount: 1, currency: 'USD' } },
  refusedBy: [{ service: 'fal', failure: 'Unauthorized', message: 'HTTP 401.' }],
  timestamp: '2026-11-17T12:00:00.000Z',
};

test('an event of a job has one id, and each other event another', () => {
  const id = webhookId('run-1', 'video.completed', 1);
  expect(id).toBe('webhook_run-1_completed_1');
  const others = [
    webhookId('run-2', 'video.completed', 1),
    webhookId('run-1', 'video.needs_decision', 1),
    webhookId('run-1', 'video.needs_decision', 2),
  ];
  expect(new Set([id, ...others]).size).toBe(4);
});

test('a webhook says what happened to which video, and when', () => {
  const { event, job, timestamp, ...facts } = delivery;
  expect(webhookPayload(delivery)).toEqual({ type: event, timestamp, data: { id: job, ...facts } });
});

test('a webhook of a job with one service has no refusals', () => {
  expect(webhookPayload({ ...delivery, refusedBy: undefined }).data).not.toHaveProperty('refusedBy');
});

test('a receiver sees the id that the gateway answered, and no other part of the name of the job', () => {
  const id = `video_${'0a'.repeat(16)}`;
  const idOf = (job: string) => webhookPayload({ ...delivery, job }).data.id;
  expect(idOf(`gateway-web_shop2-${id}`)).toBe(id);
  for (const other of [`my-gateway-shop-${id}`, `gateway-shop-${id}0`, 'gateway-shop-video_1', id])
    expect(idOf(other)).toBe(other);
});
