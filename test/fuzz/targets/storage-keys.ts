import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { isStorageKey, isTaskId, isWorkflowId } from '../../../src/contract/input-rules';
import { createFileStorage, PartFile, StorageFault } from '../../../src/storage';
import { storageKey } from '../../../src/storage/storage-key';
import { fc } from '../../support/properties';
import { anyText, edited, weighted } from '../hostile';
import type { Target } from '../target';

const KEYS = [
  'fox.mp4',
  'foxes/red.mp4',
  'foxes/',
  '{date}/{workflowId}.{ext}',
  '{taskId}/x.{ext}',
  '../fox.mp4',
  '/tmp/fox.mp4',
  'a/../../b',
];
const key = weighted(
  [3, fc.constantFrom(...KEYS)],
  [3, fc.constantFrom(...KEYS).chain(edited)],
  [1, fc.array(anyText, { maxLength: 4 }).map((parts) => parts.join('/'))],
  [1, anyText],
);

export interface Stored {
  key: string;
  template: string;
  workflowId: string;
  taskId: string;
  /** A caller of the storage alone, without the rules for keys. */
  unchecked: boolean;
}

const VIDEO = Buffer.from('video');
const WHOLE = {
  bytes: VIDEO.length,
  sha256: createHash('sha256').update(VIDEO).digest('hex'),
  contentType: 'video/mp4',
};

export const storageKeys: Target<Stored> = {
  inputs: fc.record({
    key,
    template: key,
    workflowId: anyText,
    taskId: anyText,
    unchecked: fc.boolean(),
  }),
  plain: {
    key: 'foxes/',
    template: '{workflowId}.{ext}',
    workflowId: 'fox',
    taskId: 't-1',
    unchecked: false,
  },
  inSuite: 100,
  async feed(input, folder) {
    const storage = createFileStorage(join(folder, 'a/b/videos'));
    const keys = keysOf(input);
    const texts: string[] = [];
    for (const one of keys) {
      texts.push(
        ...(await outcomeOf(async () => {
          const { uri } = await storage.write(`${one}.json`, 'about the video', 'application/json');
          const back = await storage.read(`${one}.json`);
          if (back === undefined || (await text(back)) !== 'about the video')
            throw new Error(`${uri} is not what was written`);
        })),
      );
      texts.push(
        ...(await outcomeOf(async () => {
          const part = new PartFile(storage, one);
          await part.append(Readable.from([VIDEO]));
          await storage.publishFile(part.path, one, WHOLE);
        })),
      );
    }
    await storage.sweep?.(-1_000);
    return { texts, refused: keys.length === 0 || texts.length > 0 };
  },
};

/** The keys that a job would use, or the given one as it is. */
function keysOf({ key: given, template, workflowId, taskId, unchecked }: Stored): string[] {
  if (unchecked) return [given];
  if (!isStorageKey(given) || !isStorageKey(template) || template.endsWith('/')) return [];
  if (!isWorkflowId(workflowId) || !isTaskId(taskId)) return [];
  return [storageKey(given, template, { workflowId, taskId, startedAtMs: 0, extension: 'mp4' })];
}

async function outcomeOf(work: () => Promise<void>): Promise<string[]> {
  try {
    await work();
    return [];
  } catch (error) {
    if (error instanceof StorageFault) return [error.message];
    throw error;
  }
}
