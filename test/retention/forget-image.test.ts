import { forgetImage, type RemovingStorage, recordKey } from '../../src/retention';
import { checkImage, storeImage } from '../../src/storage';
import { PNG } from '../support/images';
import { allKeys, KINDS, NAMESPACE, RECORD, type StorageKind } from './retention-world';

const image = checkImage(PNG, 'shop');
const key = `images/shop/${image.reference.sha256}.png`;
const OWN = recordKey('fox', RECORD);

let kind: StorageKind;
let storage: RemovingStorage;
beforeEach(async () => {
  kind = await KINDS['a folder']();
  storage = await kind.create();
  await storeImage(storage, image);
  await record('fox');
});
afterEach(() => kind.close());

const record = (job: string) =>
  storage.write(
    recordKey(job, RECORD),
    JSON.stringify({
      namespace: NAMESPACE,
      job,
      request: { prompt: 'A fox', image_url: image.url },
      state: 'submitted',
      taskId: 'task-1',
    }),
    'application/json',
  );

const forget = (neededBy?: string) =>
  forgetImage(
    storage,
    { reference: image.url, ownRecords: [OWN], neededBy: async () => neededBy },
    { dryRun: false },
  );

test('an image that no other job has is removed', async () => {
  expect(await forget()).toEqual({ removed: [{ what: 'image', where: key }], kept: [] });
  expect(await allKeys(storage)).toEqual([OWN]);
  expect(await forget()).toEqual({ removed: [], kept: [] });
});

test.each([
  ['another record names it', () => record('owl'), undefined, 'owl has the same image'],
  ['a running job may need it', async () => undefined, 'elk is running', 'elk is running'],
  [
    'a record cannot be read',
    () => storage.write(recordKey('owl', RECORD), '{', 'application/json'),
    undefined,
    `${recordKey('owl', RECORD)} cannot be read and may name it`,
  ],
])('it stays when %s', async (_, prepare, neededBy, why) => {
  await prepare();
  expect(await forget(neededBy)).toEqual({ removed: [], kept: [{ what: 'image', where: key, why }] });
  expect(await allKeys(storage)).toContain(key);
});
