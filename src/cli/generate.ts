import { randomUUID } from 'node:crypto';
import type { VideoJob } from '../client/video-job';
import { ConfigError } from '../config/service-config';
import { usesEmulator } from '../config/services-config';
import { printableJson, shown } from '../contract/clean-text';
import type { JobInput } from '../contract/job';
import { describeOtherType } from '../contract/job-identity';
import { WORKFLOW_TYPE } from '../contract/names';
import { VideoFailure } from '../contract/video-failure';
import { chooseService } from './choose-service';
import { jobCommand } from './commands';
import { checkOut, copyOut } from './copy-out';
import { EXIT } from './exit-codes';
import { followJob, reportJoined, requestedStorage, STORAGE_MEMO } from './follow-job';
import { readImageFile, storeImageFile } from './image-file';
import { type JobsSession, withJobs } from './open-jobs';
import { storedLines } from './progress-lines';
import { type GenerateOptions, readJobInput } from './read-job-input';
import { didYouMean, namesLike } from './similar-names';
import { printLine, type Terminal } from './terminal';

/** `videogen generate`: starts or follows one job, and waits for its video unless `--no-wait` is given. */
export async function generate(
  prompt: string | undefined,
  options: GenerateOptions,
  terminal: Terminal,
): Promise<number> {
  const workflowId = options.id ?? `video-${randomUUID()}`;
  const { choice, requestFields } = chooseService(options.service, terminal.env);
  const image = await readImageFile(options);
  const order: Order = {
    workflowId,
    input: readJobInput(prompt, image ? { ...options, imageUrl: image.url } : options, {
      onEmulator: usesEmulator(terminal.env),
      choice,
      requestFields,
    }),
    options,
  };
  if (options.wait) await checkOut(options.out);
  if (image) await storeImageFile(image, terminal.env);
  return await withJobs(terminal, {
    withWorker: true,
    starts: 'the job',
    isNew: order.input !== undefined,
    run: (session) => runJob(session, order, terminal),
  });
}

interface Order {
  workflowId: string;
  /** Undefined to follow an existing job. */
  input: JobInput | undefined;
  options: GenerateOptions;
}

async function runJob(session: JobsSession, order: Order, terminal: Terminal): Promise<number> {
  const { videos, client, worker } = session;
  const { workflowId, input, options } = order;
  const requested = input && requestedStorage(session, options.storage);
  const temporal = { memo: { [STORAGE_MEMO]: requested } };
  const job = input
    ? await videos.start(input, { workflowId, temporal })
    : await existing(session, workflowId);
  const description = await client.workflow.getHandle(workflowId).describe();
  const otherType = describeOtherType(workflowId, description.type, WORKFLOW_TYPE);
  if (otherType !== undefined) throw new ConfigError(otherType);
  if (options.id !== undefined)
    await reportJoined(description, worker, { terminal, requested, service: options.service });
  const result = await followJob(session, job, {
    title: `Job ${shown(workflowId)}`,
    description,
    command: jobCommand(workflowId),
    options,
    terminal,
  });
  if (typeof result === 'number') return result;
  const file = await copyOut(result.video.uri, options.out, terminal.env);
  const copiedTo = options.out === undefined ? undefined : file;
  for (const line of storedLines(result, copiedTo)) printLine(terminal, line);
  terminal.out(options.json ? printableJson({ workflowId, ...result, copiedTo }) : file);
  return EXIT.ok;
}

async function existing({ videos, client }: JobsSession, workflowId: string): Promise<VideoJob> {
  if (await videos.find(workflowId)) return videos.handle(workflowId);
  // Loading Temporal's SDK takes long, and a local server starts meanwhile.
  const { recentNames }: typeof import('../client/list-jobs') = require('../client/list-jobs');
  const meant = didYouMean(await namesLike(workflowId, (most) => recentNames(client, most)));
  const message = `there is no job ${shown(workflowId)} yet, and no prompt to start it with${meant && `.${meant}`}`;
  throw new VideoFailure('InvalidRequest', { message });
}
