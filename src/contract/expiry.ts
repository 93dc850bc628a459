import { shown } from './clean-text';

/** Whether a video is no longer kept. Its file goes within the hour. */
export function hasExpired({ expiresAt }: { expiresAt?: string | undefined }, nowMs = Date.now()): boolean {
  return expiresAt !== undefined && Date.parse(expiresAt) <= nowMs;
}

/** What to say instead of the video. */
export function describeExpired(job: string, { expiresAt }: { expiresAt?: string | undefined }): string {
  return `The video of ${shown(job)} has expired: it was kept until ${expiresAt}.`;
}
