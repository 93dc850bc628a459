import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { ConfigError, type Environment, namesAService, readServiceConfig } from '../config/service-config';
import { usesEmulator } from '../config/services-config';
import { readStorageConfig } from '../config/storage-config';
import type { BatchInput } from '../contract/batch';
import { shown } from '../contract/clean-text';
import { errorCode } from '../contract/error-code';
import { parseBatchInput } from '../contract/job-input';
import { type LineProblem, parseRequestLines, type VideoRequest } from '../contract/request';
import { servicesOf } from '../contract/service-choice';
import { requestsFileProblem } from '../contract/sizes';
import { VideoFailure } from '../contract/video-failure';
import { createStorage, StorageFault } from '../storage';
import { chooseService } from './choose-service';
import { checkId, defined, type JobOptions, number, refused, sharedInput } from './read-job-input';

export interface BatchSettings extends JobOptions {
  window?: string;
  onFailure?: string;
}

/** Larger requests go through the storage instead of the workflow's input. */
const MAX_INLINE_BYTES = 200_000;

/** A batch as read from the command line and its file. */
export interface BatchOrder {
  workflowId: string;
  requests: VideoRequest[];
  /** The requests or their key in the storage, and the options for all of them. */
  input: BatchInput;
}

export async function readBatch(file: string, options: BatchSettings, env: Environment): Promise<BatchOrder> {
  checkId(options.id);
  const { choice, requestFields: extraFields } = chooseService(options.service, env);
  const content = await readContent(file);
  const tooLarge = requestsFileProblem(Buffer.byteLength(content));
  if (tooLarge !== undefined) throw refused(`${file}: ${tooLarge}`);
  const lines = parseRequestLines(content, extraFields);
  if (!lines.ok) throw new BadLines(file, lines);
  const digest = digestOf(content);
  const isInline = Buffer.byteLength(content) <= MAX_INLINE_BYTES;
  const requestsFrom = `batches/requests-${digest.slice(0, 32)}.jsonl`;
  const parsed = parseBatchInput(
    {
      ...(isInline ? { requests: lines.requests } : { requestsFrom }),
      ...defined({ window: number(options.window), onFailure: options.onFailure }),
      ...sharedInput(options, usesEmulator(env)),
      ...choice,
    },
    extraFields,
  );
  if (!parsed.ok) throw refused(parsed.problem);
  if (!isInline) await putRequests(requestsFrom, lines.requests, env);
  return {
    workflowId:
      options.id ?? `batch-${digestOf(digest, servicesOf(choice).join(',') || serviceOf(env)).slice(0, 12)}`,
    requests: lines.requests,
    input: parsed.input,
  };
}

/** Stores the requests for the worker. The key is a digest of the content, so another file never overwrites it. */
async function putRequests(key: string, requests: VideoRequest[], env: Environment): Promise<void> {
  const lines = requests.map((request) => `${JSON.stringify(request)}\n`).join('');
  try {
    await createStorage(readStorageConfig(env)).write(key, lines, 'application/x-ndjson');
  } catch (error) {
    if (!(error instanceof StorageFault)) throw error;
    const message = `the requests are too large to start a batch without the storage; ${error.message}`;
    throw new VideoFailure('StorageFailed', { message });
  }
}

async function readContent(file: string): Promise<string> {
  return readFile(file, 'utf8').catch((error: unknown) => {
    const why = errorCode(error) ?? 'no code';
    throw new ConfigError(`${file} cannot be read (${why}): give a file with one request per line.`);
  });
}

/** Part of the batch's name, because the same requests to another service are another batch. */
function serviceOf(env: Environment): string {
  return namesAService(env) ? readServiceConfig(env).baseUrl : '';
}

function digestOf(...parts: string[]): string {
  return createHash('sha256').update(parts.join('\n')).digest('hex');
}

/** The next run reports the rest. */
const MAX_PROBLEMS_SHOWN = 10;

/** A file of requests with problems: one message for programs, a line for each problem for people. */
export class BadLines extends VideoFailure {
  /** `foxes.jsonl:4: prompt is missing`, a format that editors can open. */
  readonly lines: readonly string[];

  constructor(file: string, { problem, problems }: { problem: string; problems: readonly LineProblem[] }) {
    super('InvalidRequest', { message: `${file}: ${problem}` });
    const more = problems.length - MAX_PROBLEMS_SHOWN;
    this.lines = [
      ...problems
        .slice(0, MAX_PROBLEMS_SHOWN)
        .map(
          ({ line, problem: one }) => `${shown(file)}${line === undefined ? '' : `:${line}`}: ${shown(one)}`,
        ),
      ...(more > 0 ? [`and ${more} more`] : []),
      'Nothing was started. Correct the file and run the command again.',
    ];
  }
}
