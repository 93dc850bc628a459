import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { type Environment, namesAService, readProfile, readServiceConfig } from '../config/service-config';
import { readStorageConfig } from '../config/storage-config';
import {
  type BatchInput,
  parseBatchInput,
  parseRequestLines,
  VideoFailure,
  type VideoRequest,
} from '../contract';
import { errorCode } from '../contract/errors';
import { requestsFileProblem } from '../contract/sizes';
import { createStorage, StorageFault } from '../storage';
import { BadLines } from './bad-lines';
import type { BatchOptions } from './options';
import { checkId, defined, EMULATOR_POLLING, number } from './read-job-input';

/** More does not go through Temporal with the start, but through the storage. */
const MOST_BYTES_INLINE = 200_000;

/** A batch as the command line and its file ask for it. */
export interface BatchOrder {
  workflowId: string;
  requests: VideoRequest[];
  /** Where the requests are, and what is said of all of them. */
  input: BatchInput;
}

export async function readBatch(file: string, options: BatchOptions, env: Environment): Promise<BatchOrder> {
  checkId(options.id);
  const further = readProfile(env)?.requestFields;
  const content = await readContent(file);
  const tooLarge = requestsFileProblem(Buffer.byteLength(content));
  if (tooLarge !== undefined) throw refused(`${file}: ${tooLarge}`);
  const lines = parseRequestLines(content, further);
  if (!lines.ok) throw new BadLines(file, lines);
  const digest = digestOf(content);
  const isInline = Buffer.byteLength(content) <= MOST_BYTES_INLINE;
  const requestsFrom = `batches/requests-${digest.slice(0, 32)}.jsonl`;
  const { window, onFailure, deadline, onLostSubmit, holdFor, storage, keepBad } = options;
  const parsed = parseBatchInput(
    defined({
      ...(isInline ? { requests: lines.requests } : { requestsFrom }),
      window: number(window),
      onFailure,
      deadline,
      onLostSubmit,
      holdFor,
      storage,
      keepBad,
      polling: namesAService(env) ? undefined : EMULATOR_POLLING,
    }),
    further,
  );
  if (!parsed.ok) throw refused(parsed.problem);
  if (!isInline) await putRequests(requestsFrom, lines.requests, env);
  return {
    workflowId: options.id ?? `batch-${digestOf(digest, serviceOf(env)).slice(0, 12)}`,
    requests: lines.requests,
    input: parsed.input,
  };
}

/** Puts the requests where the worker finds them. What is in them names the file: another file never takes its place. */
async function putRequests(key: string, requests: VideoRequest[], env: Environment): Promise<void> {
  const lines = requests.map((request) => `${JSON.stringify(request)}\n`).join('');
  try {
    await createStorage(readStorageConfig(env)).write(key, lines, 'application/x-ndjson');
  } catch (error) {
    if (!(error instanceof StorageFault)) throw error;
    throw new VideoFailure('StorageFailed', {
      message: `the requests are too many to go without it; ${error.message}`,
    });
  }
}

async function readContent(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw refused(
      `${file} cannot be read (${errorCode(error) ?? 'no code'}); name a file with a request a line`,
    );
  }
}

/** The same requests to another service are another batch. */
function serviceOf(env: Environment): string {
  return namesAService(env) ? readServiceConfig(env).baseUrl : '';
}

function digestOf(...parts: string[]): string {
  return createHash('sha256').update(parts.join('\n')).digest('hex');
}

function refused(message: string): VideoFailure {
  return new VideoFailure('InvalidRequest', { message });
}
