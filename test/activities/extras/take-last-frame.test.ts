import { createVideoActivities } from '../../../activities';
import { lastFrameUrl } from '../../../src/contract/continue-from';
import { LAST_FRAME_OWNER } from '../../../src/contract/image-reference';
import { checkImage, createFileStorage, storeImage } from '../../../src/storage';
import { PNG } from '../../support/images';
import { type ActivityWorld, createActivityWorld, failureOf } from '../activity-world';

let world: ActivityWorld;
beforeEach(async () => {
  world = await createActivityWorld();
});
afterEach(() => world.close());

test('the frame of an earlier submit is found by the profile of the service that the worker chooses for new jobs', async () => {
  const storage = createFileStorage(world.folder);
  const { submitVideo, takeLastFrame } = createVideoActivities({
    service: world.service,
    services: { a: world.serviceAt(world.emulator.url, { profile: { requestFields: ['camera'] } }) },
    defaultService: 'a',
    storage,
    gatewayUrl: 'https://gateway.example.com',
  });
  const frame = checkImage(PNG, LAST_FRAME_OWNER);
  await storeImage(storage, frame);
  const request = { prompt: 'It looks up', camera: 'still', image_url: lastFrameUrl('fox') } as object as {
    prompt: string;
  };
  world.emulator.next('submit', { kind: 'refused', status: 401, message: 'no' });
  await failureOf(world.run(submitVideo, { request, job: 'next', image: frame.url }));
  const taken = world.run(takeLastFrame, { request, job: 'next', from: 'fox' });
  expect(await taken.result).toEqual({ image: frame.url });
});
