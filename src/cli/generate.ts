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
import { EXIT, reportError } from './exit-codes';
import { readImageFile, storeImageFile } from './image-file';
import { reportJoined, requestedStorage, STORAGE_MEMO } from './joined-job';
import { showProgress } from './live-view';
import { printUiCommand, queueAndLink, type TemporalSession } from './open-temporal';
import type { GenerateOptions } from './options';
import { storedLines } from './progress-lines';
import { readJobInput } from './read-job-input';
import { didYouMean, namesLike } from './similar-names';
import { printLine, type Terminal } from './terminal';
import { orEnded, whileShown, withTemporal } from './with-temporal';

/** `videogen generate`: starts or follows one job, and waits for its video unless `--no-wait` is given. */
export async function generate(
  prompt: string | undefined,
  options: GenerateOptions,
  terminal: Terminal,
): Promise<number> {
  try {
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
    return await withTemporal(terminal, {
      what: 'the job',
      isNew: order.input !== undefined,
      run: (session) => runJob(session, order, terminal),
    });
  } catch (error) {
    return reportError(error, options, terminal);
  }
}

interface Order {
  workflowId: string;
  /** Undefined to follow an existing job. */
  input: JobInput | undefined;
  options: GenerateOptions;
}

async function runJob(
  session: TemporalSession,
  order: Order,
  terminal: Terminal,
): Promise<number | 'temporal-ended'> {
  const { videos } = session;
  const { workflowId, input, options } = order;
  const requested = input && requestedStorage(session, options.storage);
  const temporal = { memo: { [STORAGE_MEMO]: requested } };
  const starting = input ? videos.start(input, { workflowId, temporal }) : existing(session, workflowId);
  const job = await orEnded(session, starting);
  if (job === 'temporal-ended') return job;
  const description = await orEnded(session, session.describe(workflowId));
  if (description === 'temporal-ended') return description;
  const otherType = describeOtherType(workflowId, description.type, WORKFLOW_TYPE);
  if (otherType !== undefined) throw new ConfigError(otherType);
  if (options.id !== undefined)
    await reportJoined(description, session, { terminal, requested, service: options.service });
  printLine(terminal, `Job ${shown(workflowId)}${queueAndLink(description, session)}`);
  if (!options.wait) {
    printUiCommand(session, terminal);
    printLine(terminal, `It continues wherever a worker runs. Follow it with: ${jobCommand(workflowId)}`);
    terminal.out(options.json ? printableJson({ workflowId }) : shown(workflowId));
    return EXIT.ok;
  }
  const result = await whileShown(showProgress(job, terminal, session.describeMissingWorker), job.result(), {
    session,
    terminal,
  });
  if (result === 'temporal-ended') return result;
  if (result === 'interrupted') {
    printLine(
      terminal,
      `Stopped watching. The job is not cancelled. Pick it up again with: ${jobCommand(workflowId)}`,
    );
    return EXIT.interrupted;
  }
  const file = await copyOut(result.video.uri, options.out, terminal.env);
  const copiedTo = options.out === undefined ? undefined : file;
  for (const line of storedLines(result, copiedTo)) printLine(terminal, line);
  terminal.out(options.json ? printableJson({ workflowId, ...result, copiedTo }) : file);
  return EXIT.ok;
}

async function existing({ videos, recentNames }: TemporalSession, workflowId: string): Promise<VideoJob> {
  const job = videos.handle(workflowId);
  if (await job.exists()) return job;
  const meant = didYouMean(await namesLike(workflowId, recentNames));
  const message = `there is no job ${shown(workflowId)} yet, and no prompt to start it with${meant && `.${meant}`}`;
  throw new VideoFailure('InvalidRequest', { message });
}
