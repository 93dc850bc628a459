import { forgetFiles, type RemovingStorage, recordKey, recordsOf } from '../../src/retention';
import { StorageFault } from '../../src/storage';
import { atLength } from '../support/nightly';
import { S3_SERVER_TIMEOUT_MS } from '../support/s3-server';
import {
  allKeys,
  HOUR_MS,
  KINDS,
  killedAt,
  NAMESPACE,
  RECORD,
  type StorageKind,
  storeUntil,
} from './retention-world';

const SOON = new Date(Math.ceil((Date.now() + HOUR_MS) / 1_000) * 1_000).toISOString();
const job = { namespace: NAMESPACE, job: 'fox', taskId: 'task-1' };
const options = { dryRun: false, keepMarker: true };

async function forget(storage: RemovingStorage, given: Partial<typeof options> = {}) {
  return forgetFiles(storage, job, await recordsOf(storage, job), { ...options, ...given });
}

describe.each(atLength(['a folder'] as const, ['a folder', 'S3'] as const))('in %s', (kindName) => {
  let kind: StorageKind;
  beforeAll(async () => {
    kind = await KINDS[kindName]();
  }, S3_SERVER_TIMEOUT_MS);
  afterAll(() => kind?.close());

  test('forgetting that is killed at any call is finished by the next run', async () => {
    for (let call = 1; ; call++) {
      const storage = await kind.create();
      await storeUntil(storage, { job: 'fox', expiresAt: SOON, extras: ['poster'] });
      await storage.write('fox.mp4.bad', 'half a fox', 'video/mp4');
      const killed = killedAt(storage, call);
      const done = await forget(killed).catch(() => undefined);
      await forget(storage);
      const left = (await allKeys(storage)).filter((key) => !key.includes('/removing-'));
      expect([call, left]).toEqual([call, [recordKey('fox', RECORD)]]);
      if (done !== undefined) break;
    }
  });
});

test('the pictures of a video are named and go with it; without a sidecar, its record knows them', async () => {
  const kind = await KINDS['a folder']();
  const storage = await kind.create();
  await storeUntil(storage, { job: 'fox', expiresAt: SOON, extras: ['last-frame'] });
  await storage.removeKey('fox.mp4.json');
  const extra = { what: 'extra', where: 'fox.mp4.last-frame.png' };
  expect((await forget(storage, { dryRun: true })).removed).toContainEqual(extra);
  expect(await allKeys(storage)).toContain(extra.where);
  expect((await forget(storage)).removed).toContainEqual(extra);
  expect(await allKeys(storage)).toEqual([recordKey('fox', RECORD)]);
  await kind.close();
});

describe('of the records of a name', () => {
  let kind: StorageKind;
  let storage: RemovingStorage;
  beforeEach(async () => {
    kind = await KINDS['a folder']();
    storage = await kind.create();
  });
  afterEach(() => kind.close());

  const write = (key: string, record: object) =>
    storage.write(key, JSON.stringify({ namespace: NAMESPACE, job: 'fox', ...record }), 'application/json');

  test('only those of the namespace and of exactly this name are found', async () => {
    const [own, theirs] = [recordKey('fox', RECORD), recordKey('fox', 'f'.repeat(16))];
    await write(own, { state: 'submitted', taskId: 'task-1' });
    await write(theirs, { namespace: 'others', state: 'submitted', taskId: 'task-2' });
    for (const other of ['fox-1', 'fox.0123456789abcdef', 'Fox'])
      await write(recordKey(other, RECORD), { job: other, state: 'submitted', taskId: 'task-3' });
    expect((await forget(storage)).removed).toEqual([{ what: 'record', where: own }]);
  });

  test('one of a submit that made no task leaves no marker, and a lost one does', async () => {
    const [refused, lost] = [recordKey('fox', RECORD), recordKey('fox', 'f'.repeat(16))];
    await write(refused, { state: 'refused', keySent: true });
    await write(lost, { state: 'sending', send: '1', sender: 'me', at: SOON });
    expect((await forget(storage)).markers).toEqual([lost]);
    expect(await allKeys(storage)).toEqual([lost]);
    expect((await forget(storage, { keepMarker: false })).removed).toEqual([{ what: 'record', where: lost }]);
    expect(await allKeys(storage)).toEqual([]);
  });

  test('a damaged one stops it, because it may name a paid task', async () => {
    await storage.write(recordKey('fox', RECORD), '{', 'application/json');
    await expect(forget(storage)).rejects.toThrow('is damaged and may name a paid task');
  });

  test('and their files, one that may not be removed stops it with one sentence', async () => {
    await storeUntil(storage, { job: 'fox', expiresAt: SOON });
    const removeKey = async (key: string) => {
      if (key === 'fox.mp4') throw new StorageFault('EACCES: permission denied');
      await storage.removeKey(key);
    };
    await expect(forget({ ...storage, removeKey })).rejects.toThrow(
      /^The video file:.*fox\.mp4 could not be removed \(EACCES: permission denied\): let this user remove files there, and run it again\. What is left is found again\.$/,
    );
    expect(await allKeys(storage)).toContain(recordKey('fox', RECORD));
  });
});
