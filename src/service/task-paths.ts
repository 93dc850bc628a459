import type { VideoRequest } from '../contract/request';
import { operationFor } from './map-request';
import type { ServiceProfile } from './profile';

const TASK_PATH = '/v1/videos/{taskId}';

/** At the beginning of ids of tasks from images, at services that poll them at a path of their own. */
const IMAGE_MARK = 'image-to-video:';

/** The id under which a new task is known to its job. */
export function markTask(profile: ServiceProfile, request: VideoRequest, taskId: string): string {
  return pollsByOperation(profile) && operationFor(request) === 'imageToVideo' ? IMAGE_MARK + taskId : taskId;
}

/** The ids under which a job may know a task that the service names. */
export function idsInJobs(taskId: string): string[] {
  return [taskId, IMAGE_MARK + taskId];
}

/** The id that the service knows. */
export function unmarkedId(profile: ServiceProfile, taskId: string): string {
  return isMarked(profile, taskId) ? taskId.slice(IMAGE_MARK.length) : taskId;
}

/** Where a task is polled. */
export function taskPathOf(profile: ServiceProfile, taskId: string): string {
  const { task = TASK_PATH } = profile.paths ?? {};
  const operation = isMarked(profile, taskId) ? 'imageToVideo' : 'textToVideo';
  const path = typeof task === 'string' ? task : task[operation];
  return fillPath(path, { taskId: unmarkedId(profile, taskId) });
}

/** Without the path of another operation an id is the service's own, whatever it begins with. */
function isMarked(profile: ServiceProfile, taskId: string): boolean {
  return pollsByOperation(profile) && taskId.startsWith(IMAGE_MARK);
}

function pollsByOperation({ paths }: ServiceProfile): boolean {
  return typeof paths?.task === 'object';
}

/** Puts ids in place of `{taskId}` and `{fileId}`; with `{+taskId}`, the slashes of an id stay. */
export function fillPath(path: string, ids: { taskId: string; fileId?: string }): string {
  return path.replaceAll(
    /\{(\+?)(taskId|fileId)\}/g,
    (mark, keepSlashes: string, name: 'taskId' | 'fileId') => {
      const id = ids[name];
      if (id === undefined) return mark;
      return keepSlashes === '' ? escapeSegment(id) : id.split('/').map(escapeSegment).join('/');
    },
  );
}

/** Escapes `.` and `..` too: as path segments they would name another resource. */
function escapeSegment(segment: string): string {
  return /^\.+$/.test(segment) ? segment.replaceAll('.', '%2E') : encodeURIComponent(segment);
}
