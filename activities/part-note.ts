import { activityInfo } from '@temporalio/activity';

/** What the storage has of a video that is on its way: enough for another attempt to check it and to go on. */
export interface PartNote {
  key: string;
  part: string;
  bytes: number;
  /** Of those bytes. */
  sha256: string;
  /** With what a server can be asked for the rest of the same video. */
  validator: string;
}

/** The note of the attempt before this one, if it got so far as to leave one. */
export function readPartNote(): PartNote | undefined {
  const { key, part, bytes, sha256, validator }: Partial<Record<keyof PartNote, unknown>> = Object(
    activityInfo().heartbeatDetails,
  );
  if (typeof key !== 'string' || typeof part !== 'string' || typeof bytes !== 'number') return undefined;
  if (typeof sha256 !== 'string' || typeof validator !== 'string') return undefined;
  return { key, part, bytes, sha256, validator };
}
