import { cleanText } from '../contract/clean-text';
import { isTainted, redact } from '../contract/redact';
import type { VideoRequest } from '../contract/request';
import { bodiesOf, parseJson, valuesIn } from './answer-paths';
import { createVideoSource, openVideo } from './open-video';
import type { TracedReading, VideoState } from './read-answer';
import { first, linkFrom, MAX_LENGTH, taskIdFrom } from './read-values';
import type { AnswerPath } from './reading-rules';
import { type Question, ServiceConnection } from './service-connection';
import { missingTaskFault, type ReadAnswer, refusedContentOf, ServiceFault } from './service-fault';
import {
  type CancelAnswer,
  DEFAULT_TIMEOUTS,
  type OpenedVideoService,
  type TaskReading,
  type VideoService,
  type VideoServiceOptions,
} from './video-service';
import { fillPath, mapRequest, markTask, operationFor, taskPathOf, unmarkedId } from './word-request';

/** The service over HTTP. Loads undici: see createVideoService. */
export function createHttpVideoService(options: VideoServiceOptions): OpenedVideoService {
  const timeouts = { ...DEFAULT_TIMEOUTS, ...options.timeouts };
  const service = new ServiceConnection(options, timeouts);
  const videos = createVideoSource({
    base: service.base,
    downloadAllow: options.downloadAllow ?? [],
    timeouts,
    serviceHeaders: () => service.headers(),
    secrets: () => service.secrets(),
  });
  return {
    profile: service.profile,
    start: (request, { idempotencyKey }) => submit(service, request, idempotencyKey),
    status: (taskId, { signal } = {}) => poll(service, taskId, signal),
    open: (link, opening) => openVideo(link, videos, opening),
    cancel: (taskId, { signal } = {}) => cancel(service, taskId, signal),
    async close() {
      await Promise.all([service.close(), videos.dispatcher.destroy()]);
    },
  };
}

const TEXT_TO_VIDEO_PATH = '/v1/videos/text-to-video';
const IMAGE_TO_VIDEO_PATH = '/v1/videos/image-to-video';
const IDEMPOTENCY_HEADER = 'Idempotency-Key';

async function submit(
  service: ServiceConnection,
  request: VideoRequest,
  idempotencyKey: string,
): ReturnType<VideoService['start']> {
  const { paths = {}, idempotencyHeader = IDEMPOTENCY_HEADER } = service.profile;
  const { textToVideo = TEXT_TO_VIDEO_PATH, imageToVideo = IMAGE_TO_VIDEO_PATH } = paths;
  const mapped = mapRequest(service.profile, request);
  if (!mapped.ok) throw new ServiceFault('refused', { message: mapped.problem });
  const question: Question = {
    method: 'POST',
    path: { textToVideo, imageToVideo }[operationFor(request)],
    headers: {
      'content-type': 'application/json',
      ...(idempotencyHeader !== null && { [idempotencyHeader.toLowerCase()]: idempotencyKey }),
    },
    body: JSON.stringify(mapped.body),
  };
  const answer = await service.ask('submit', question, { request });
  const { reading, status, secrets } = answer;
  const { taskId, refusal, doubts } = reading;
  if (taskId === undefined) throw missingTaskFault(answer);
  if (isTainted(taskId, secrets)) {
    throw new ServiceFault('unreadable', {
      status,
      message: 'the task id in the answer contains the API key',
    });
  }
  const both = `${reading.found.taskId} is ${taskId}, and ${refusal?.path} says that the request was refused`;
  return {
    taskId: markTask(service.profile, request, taskId),
    doubts: [...doubts, ...(refusal ? [redact(both, secrets)] : [])],
  };
}

async function poll(service: ServiceConnection, taskId: string, signal?: AbortSignal): Promise<TaskReading> {
  const path = taskPathOf(service.profile, taskId);
  const { status, rawBody, reading, secrets } = await service.ask(
    'poll',
    { method: 'GET', path, signal },
    { taskId: unmarkedId(service.profile, taskId) },
  );
  if (!reading.json && status !== 202) {
    throw new ServiceFault('unreadable', { status, message: `not JSON: ${redact(rawBody, secrets)}` });
  }
  const task = taskOf(status, reading);
  if (task.state !== 'succeeded') return readingOf(reading, task);
  const link: FoundLink =
    task.videoUrl === undefined
      ? await findLink(service, taskId, rawBody, signal)
      : { videoUrl: task.videoUrl };
  // Some services say only there that the task has failed.
  if (link.answer && link.answer.status > 299) {
    return readingOf(link.answer.reading, taskOf(link.answer.status, link.answer.reading));
  }
  const { refusedContent: _, ...read } = reading;
  const refused = refusedContentOf(reading) ?? (link.answer && refusedContentOf(link.answer.reading));
  const { videoUrl } = link;
  if (videoUrl === undefined) {
    // Some services call a task a success whose video they withhold.
    return refused
      ? { ...read, task: { state: 'failed', word: task.word }, refusedContent: refused }
      : { ...read, task };
  }
  const doubts = refused
    ? [...read.doubts, 'the video is marked as refused, and there is a link to it']
    : read.doubts;
  return { ...read, doubts, task: { ...task, videoUrl } };
}

/** An error that may be about the call says at least why the state is unknown. */
function taskOf(status: number, { task, serviceMessage: { code, message } }: TracedReading): VideoState {
  if (status > 299) return { state: 'failed', word: `HTTP ${status}` };
  if (task.state !== 'unknown' || task.word !== '') return task;
  return { ...task, word: cleanText([code, message].filter(Boolean).join(': '), MAX_LENGTH.word) };
}

/** Refused content is told of failed tasks alone. */
function readingOf(reading: TracedReading, task: VideoState): TaskReading {
  const { refusedContent: _, ...read } = reading;
  const refused = task.state === 'failed' ? refusedContentOf(reading) : undefined;
  return { ...read, task, ...(refused && { refusedContent: refused }) };
}

interface FoundLink {
  videoUrl?: string | undefined;
  /** What the call for the link was answered. */
  answer?: ReadAnswer;
}

/** The link to a finished video, for services whose answer to a poll has none. */
async function findLink(
  service: ServiceConnection,
  taskId: string,
  pollBody: string,
  signal?: AbortSignal,
): Promise<FoundLink> {
  const { profile, rules, base } = service;
  const { video } = profile;
  if (video === undefined) return {};
  const id = unmarkedId(profile, taskId);
  if (!('link' in video)) return { videoUrl: service.urlOf(fillPath(video.path, { taskId: id })) };
  const valuesOf = (body: string, paths: AnswerPath | AnswerPath[]) =>
    valuesIn(bodiesOf(parseJson(body), rules.paths.within), [paths].flat());
  const fileId = first(valuesOf(pollBody, video.id), taskIdFrom)?.value;
  if (fileId === undefined) return {};
  const path = fillPath(video.path, { taskId: id, fileId });
  const answer = await service.ask('link', { method: 'GET', path, signal });
  return { answer, videoUrl: first(valuesOf(answer.rawBody, video.link), linkFrom(base.href))?.value };
}

async function cancel(
  service: ServiceConnection,
  taskId: string,
  signal?: AbortSignal,
): Promise<CancelAnswer> {
  const { profile } = service;
  const { cancel } = profile;
  if (cancel === undefined) return 'not-offered';
  const path = fillPath(cancel.path, { taskId: unmarkedId(profile, taskId) });
  await service.ask('cancel', { method: cancel.method, path, signal });
  return 'asked';
}
