import { ApplicationFailure, cancellationSignal, log } from '@temporalio/activity';
import type { FailureType } from '../src/contract/failure-table';
import type { StoredVideo } from '../src/contract/job';
import {
  type RateGate,
  ServiceFault,
  type TaskReading,
  type VideoBody,
  type VideoService,
} from '../src/service';
import { type Saved, StorageFault, type VideoStorage } from '../src/storage';
import { whileHeartbeating } from './heartbeating';
import { jobId } from './job-id';
import { storageKey } from './storage-key';
import { throughGate } from './through-gate';
import { failureOf, toFailure } from './to-failure';

export interface DownloadVideoInput {
  taskId: string;
  /** A key, or a prefix when it ends with `/`; the file is named after the workflow unless a key is given. */
  storage?: string;
}

export interface DownloadVideoDeps {
  service: VideoService;
  storage: VideoStorage;
  gate: RateGate;
}

/** Asks the service for a fresh link and streams the video into the storage: all of it or nothing. */
export function createDownloadVideo({ service, storage, gate }: DownloadVideoDeps) {
  return async function downloadVideo({ taskId, storage: place }: DownloadVideoInput): Promise<StoredVideo> {
    const signal = cancellationSignal();
    let bytes = 0;
    return whileHeartbeating(
      () => ({ bytes }),
      async () => {
        const link = await freshLink(taskId, () =>
          throughGate(gate, 'check', () => service.check(taskId, { signal })),
        );
        try {
          const video = await throughGate(gate, 'download', () => service.openVideo(link, { signal }));
          const stored = await storeVideo(storage, place, video, {
            taskId,
            signal,
            onBytes: (soFar) => {
              bytes = soFar;
            },
          });
          log.info('downloaded', { taskId, ...stored });
          return stored;
        } catch (error) {
          if (signal.aborted) log.info('download left', { taskId, bytes });
          throw toFailure(error, 'download', { taskId });
        }
      },
    );
  };
}

/** What it means when the task, asked for its link, is in another state than "succeeded, with a video". */
const WITHOUT_LINK: Record<TaskReading['task']['state'], FailureType> = {
  queued: 'NoVideo',
  running: 'NoVideo',
  unknown: 'NoVideo',
  succeeded: 'NoVideo',
  failed: 'GenerationFailed',
  cancelled: 'GenerationCancelled',
};

async function freshLink(taskId: string, look: () => Promise<TaskReading>): Promise<string> {
  try {
    const { task, said } = await look();
    if (task.state === 'succeeded' && task.videoUrl !== undefined) return task.videoUrl;
    throw failureOf(WITHOUT_LINK[task.state], 'download', { taskId, ...said });
  } catch (error) {
    // A status call's refusals mean what they mean while waiting; how they are retried is the download's matter.
    throw toFailure(error, 'check', { taskId, retryAs: 'download' });
  }
}

/** An expired link is often answered with a page or an error document, and status 200. */
function videoType({ contentType }: VideoBody, taskId: string): string {
  const type = contentType.split(';')[0]?.trim().toLowerCase() ?? '';
  if (/^text\/|[/+](json|xml)$/.test(type)) {
    throw failureOf('VideoCorrupt', 'download', {
      taskId,
      message: `the link answered ${type}, not a video`,
    });
  }
  return type;
}

interface StoreOptions {
  taskId: string;
  signal: AbortSignal;
  onBytes: (soFar: number) => void;
}

async function storeVideo(
  storage: VideoStorage,
  place: string | undefined,
  video: VideoBody,
  options: StoreOptions,
): Promise<StoredVideo> {
  try {
    const contentType = videoType(video, options.taskId);
    const key = storageKey(place, jobId(), contentType);
    return { ...(await saveWhole(storage, key, video, options)), contentType };
  } finally {
    // A video that is not read to its end would keep its connection.
    video.stream.on('error', () => undefined).destroy();
  }
}

async function saveWhole(
  storage: VideoStorage,
  key: string,
  video: VideoBody,
  { taskId, signal, onBytes }: StoreOptions,
): Promise<Saved> {
  const accept = ({ bytes }: { bytes: number }) => {
    if (bytes > 0 && (video.bytes === undefined || bytes === video.bytes)) return;
    const message = `${bytes} of ${video.bytes ?? 'an unknown number of'} bytes arrived`;
    throw failureOf('VideoCorrupt', 'download', { taskId, message });
  };
  try {
    return await storage.save(key, video.stream, { signal, onBytes, accept });
  } catch (error) {
    const ours = error instanceof StorageFault || error instanceof ApplicationFailure || signal.aborted;
    // What remains is the stream that feeds the storage: the connection ended within the video.
    throw ours ? error : new ServiceFault('cut', { message: String(error) }, { cause: error });
  }
}
