import { createVideoActivities } from '../../../activities';
import type { VideoRequest } from '../../../src/contract/request';
import { checkImage, createFileStorage, storeImage, type VideoStorage } from '../../../src/storage';
import { startImageServer } from '../../support/image-server';
import { PNG, sha256Of } from '../../support/images';
import { recordsIn } from '../../support/stored-files';
import { type ActivityWorld, createActivityWorld, failureOf } from '../activity-world';

const image = checkImage(PNG, 'shop');
const REQUEST: VideoRequest = { prompt: 'A red fox', image_url: image.url };

let world: ActivityWorld;
let storage: VideoStorage;
beforeEach(async () => {
  world = await createActivityWorld({ fetchImages: true, idempotencyKeys: 'honoured' });
  storage = createFileStorage(world.folder);
});
afterEach(() => world.close());

interface Given {
  request?: VideoRequest;
  gatewayUrl?: string;
  used?: VideoStorage;
}

function submit({ request = REQUEST, gatewayUrl, used = storage }: Given = {}) {
  const { submitVideo } = createVideoActivities({ service: world.service, storage: used, gatewayUrl });
  return world.run(submitVideo, { request });
}

test('a reference to a stored image becomes a link that the service can fetch, and that is in no note, log or record', async () => {
  await storeImage(storage, image);
  const { url, close } = await startImageServer(storage);
  const attempt = submit({ gatewayUrl: `${url}/` });
  await attempt.result;
  await close();
  const [task] = world.emulator.generations();
  expect(task?.image).toEqual({ bytes: PNG.length, sha256: sha256Of(PNG), contentType: 'image/png' });
  const link = new URL(task?.request.image_url ?? '');
  expect(link.origin).toBe(url);
  const records = await Promise.all(
    (await recordsIn(world.folder)).map(async (key) => (await storage.read(key))?.toArray()),
  );
  const written = records.flat().map(String).join('');
  expect(written).toContain(image.url);
  for (const text of [written, world.everythingReported()]) {
    expect(text).not.toContain(link.searchParams.get('signature'));
    expect(text).not.toContain(url);
  }
});

test('a reference to a stored image identifies the job, and a repeated submit is the same request to the service', async () => {
  await storeImage(storage, image);
  const { url, close } = await startImageServer(storage);
  world.emulator.next('submit', { kind: 'reset' });
  const { submitVideo } = createVideoActivities({ service: world.service, storage, gatewayUrl: url });
  const attempt = (info = {}) =>
    world.run(submitVideo, { request: REQUEST, onLostSubmit: 'resubmit' as const }, info);
  const lost = attempt();
  await failureOf(lost);
  const { taskId } = await attempt({ attempt: 2, heartbeatDetails: lost.beats.at(-1) }).result;
  await close();
  expect(world.emulator.generations()).toMatchObject([{ taskId }]);
  const [first, second] = world.emulator.calls;
  expect(second).toMatchObject({ body: first?.body, idempotencyKey: first?.idempotencyKey });
});

test('a reference to a stored image is refused by us when the image is not there, or the service cannot reach it, before a byte is sent', async () => {
  const missing = await failureOf(submit({ gatewayUrl: 'http://127.0.0.1:1' }));
  expect([missing.failure.type, missing.failure.nonRetryable]).toEqual(['InvalidRequest', true]);
  expect(missing.details.message).toContain('not in the storage');
  await storeImage(storage, image);
  for (const name of ['shop/../jobs/x.json', `shop/${sha256Of(PNG)}.svg`, '']) {
    const request = { ...REQUEST, image_url: `videogen-image:${name}` };
    expect((await failureOf(submit({ request }))).details.message).toContain('not in the storage');
  }
  const unreachable = await failureOf(submit());
  expect(unreachable.failure.type).toBe('InvalidRequest');
  expect(unreachable.failure.message).toContain('VIDEOGEN_GATEWAY_URL');
  expect(world.emulator.calls).toEqual([]);
});

test('a reference to a stored image waits for a storage that fails, because nothing was sent', async () => {
  const used = { ...storage, read: () => Promise.reject(new Error('EIO: the disk is broken')) };
  const { failure } = await failureOf(submit({ used }));
  expect([failure.type, failure.nonRetryable]).toEqual(['StorageFailed', false]);
  expect(world.emulator.calls).toEqual([]);
});
