const SEGMENT = Buffer.from('18538067', 'hex');

/** Turns a Matroska file into a live recording, whose Segment has no size. */
export function asLiveRecording(file: Buffer): Buffer {
  const live = Buffer.from(file);
  const sizeAt = live.indexOf(SEGMENT) + SEGMENT.length;
  const sizeBytes = Math.clz32(live[sizeAt] ?? 0) - 23;
  live.fill(0xff, sizeAt, sizeAt + sizeBytes);
  live[sizeAt] = 0xff >> (sizeBytes - 1);
  return live;
}
