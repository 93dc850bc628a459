import { createHash } from 'node:crypto';
import { hasControls } from '../contract/clean-text';
import { isTaskId } from '../contract/input-rules';
import { isTainted, type Secrets } from '../contract/redact';
import { ServiceFault } from '../service/service-fault';
import { inTime, readSmallFile, StorageFault, type VideoStorage } from '../storage';
import { hasSignedLink } from './operation-links';
import type { JsonValue } from './video-model-types';

/** Far more than any provider needs: an operation is an id or a link. */
const LARGEST_OPERATION_BYTES = 64 * 1024;
/** Beside the records of jobs. Nobody else writes files with such names there. */
const FOLDER = 'jobs/operations/';
/** Before the digest of an operation that is in the storage, and before a number or another lone value. */
const STORED = 'operation:';
const LONE = 'json:';

/** What is used of a storage to keep operations. */
export type OperationStorage = Pick<VideoStorage, 'read' | 'write'>;

interface StartedTask {
  taskId: string;
  /** As polls will have it. */
  operation: JsonValue;
  doubts: string[];
}

/**
 * What a model needs to be asked about its task, as the id of the task. It is the operation itself, so that notes, records and
 * people can use it as any other task id. One that is too large for that, or has a signed link in it, is kept in the storage,
 * under its digest: task ids are in histories, logs and the Temporal UI.
 */
export class Operations {
  constructor(private readonly storage: OperationStorage | undefined) {}

  /** The task id of an operation. The task exists: whatever is wrong here is a lost submit. */
  async toTaskId(given: unknown, secrets: Secrets): Promise<StartedTask> {
    const text = textOf(given);
    if (text === undefined) throw unreadable('the model gave no operation to ask for its task with');
    if (isTainted(text, secrets)) throw unreadable('the operation of the model contains a key');
    const operation = operationIn(text);
    if (!isTaskId(text)) return { taskId: await this.keep(text), operation, doubts: [] };
    if (!hasSignedLink(operation)) return { taskId: text, operation, doubts: [] };
    try {
      return { taskId: await this.keep(text), operation, doubts: [] };
    } catch (error) {
      if (!(error instanceof ServiceFault)) throw error;
      // The task is paid for, and nothing else leads to it.
      return {
        taskId: text,
        operation,
        doubts: [`the task id has a signed link in it: ${error.facts.message}`],
      };
    }
  }

  /** Keeps an operation in the storage and returns what stands for it. */
  private async keep(text: string): Promise<string> {
    const bytes = Buffer.byteLength(text);
    if (bytes > LARGEST_OPERATION_BYTES) {
      throw unreadable(
        `the operation of the model has ${bytes} bytes; at most ${LARGEST_OPERATION_BYTES} are kept`,
      );
    }
    const { storage } = this;
    if (storage === undefined) {
      throw unreadable(
        `the operation of the model has ${bytes} bytes, and no storage to be kept in: give aiSdkService the option storage`,
      );
    }
    const digest = createHash('sha256').update(text).digest('hex');
    try {
      await inTime(() => storage.write(keyOf(digest), text, 'application/json'));
    } catch (error) {
      const why = error instanceof StorageFault ? error.message : 'the storage failed';
      throw unreadable(`the operation of the model could not be stored: ${why}`);
    }
    return STORED + digest;
  }

  /** The operation of a task id. */
  async ofTask(taskId: string): Promise<JsonValue> {
    if (!taskId.startsWith(STORED)) return operationIn(taskId);
    const digest = taskId.slice(STORED.length);
    const { storage } = this;
    const text =
      storage && /^[0-9a-f]{64}$/.test(digest) ? await readSmallFile(storage, keyOf(digest)) : undefined;
    if (text === undefined) {
      throw unreadable('the storage of this worker does not have the operation of this task');
    }
    return operationIn(text);
  }
}

const keyOf = (digest: string) => `${FOLDER}${digest}.json`;

const unreadable = (message: string) => new ServiceFault('unreadable', { message });

/** Texts that would be taken for something else are quoted, and those with what no task id and no file can have. */
const TAKEN_FOR_ANOTHER = new RegExp(`^([{["]|${LONE}|${STORED})`);
const needsQuotes = (text: string) =>
  TAKEN_FOR_ANOTHER.test(text) || text.trim() === '' || hasControls(text) || /\p{Cs}/u.test(text);

function textOf(operation: unknown): string | undefined {
  if (operation === '') return undefined;
  if (typeof operation === 'string') return needsQuotes(operation) ? JSON.stringify(operation) : operation;
  const json = asJson(operation);
  if (json === undefined) return undefined;
  return /^[{[]/.test(json) ? json : LONE + json;
}

/** undefined for what JSON cannot say, such as NaN, and for nothing. */
function asJson(operation: unknown): string | undefined {
  try {
    const json = JSON.stringify(operation);
    return json === 'null' ? undefined : json;
  } catch {
    return undefined;
  }
}

/** Whoever adopts a task may write its id by hand, so what is no JSON is a text. */
function operationIn(text: string): JsonValue {
  const json = text.startsWith(LONE) ? text.slice(LONE.length) : text;
  if (json === text && !/^[{["]/.test(text)) return text;
  try {
    return JSON.parse(json);
  } catch {
    return text;
  }
}
