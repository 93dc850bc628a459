import type { Container } from '../contract/video-facts';

/** How a video of each container is labelled and named. */
export const CONTAINERS: Record<Container, { contentType: string; extension: string }> = {
  mp4: { contentType: 'video/mp4', extension: 'mp4' },
  mov: { contentType: 'video/quicktime', extension: 'mov' },
  webm: { contentType: 'video/webm', extension: 'webm' },
  mkv: { contentType: 'video/x-matroska', extension: 'mkv' },
  ts: { contentType: 'video/mp2t', extension: 'ts' },
};

/** More than any container needs to be told by, and what every server sends at once. */
export const HEAD_TO_SNIFF = 4096;

const BRANDED = new Set(['ftyp', 'styp']);
/** What a QuickTime file could begin with before there were brands. */
const UNBRANDED = new Set(['moov', 'mdat', 'wide', 'free', 'skip', 'pnot']);

const EBML_MAGIC = Buffer.from('1a45dfa3', 'hex');
const DOC_TYPE_ID = Buffer.from('4282', 'hex');
/** An EBML header has some 40 bytes; what looks like a type behind it would be chance. */
const EBML_HEADER_BYTES = 128;

const TS_SYNC = 0x47;
/** Blu-ray puts a time of four bytes before each packet. */
const TS_PACKETS = [
  { bytes: 188, syncAt: 0 },
  { bytes: 192, syncAt: 4 },
];
/** One byte in 256 is a sync byte by chance; of this many, none. No video is shorter: two packets tell of its tracks. */
const SYNCS_TO_SEE = 3;

/** Which container a file is, by its first bytes. */
export function sniffContainer(head: Buffer): Container | undefined {
  return sniffBoxes(head) ?? sniffElements(head) ?? (tsPacketBytes(head) === undefined ? undefined : 'ts');
}

/** How long the packets of an MPEG transport stream are, if it is one. */
export function tsPacketBytes(head: Buffer): number | undefined {
  return TS_PACKETS.find(({ bytes, syncAt }) => {
    const packets = Array.from({ length: SYNCS_TO_SEE }, (_, packet) => packet * bytes);
    return packets.every((packet) => head[packet + syncAt] === TS_SYNC);
  })?.bytes;
}

/** Whether a file begins as one of QuickTime did before there were brands. */
export function isUnbranded(head: Buffer): boolean {
  return UNBRANDED.has(head.toString('latin1', 4, 8));
}

function sniffBoxes(head: Buffer): Container | undefined {
  const type = head.toString('latin1', 4, 8);
  if (BRANDED.has(type)) return head.toString('latin1', 8, 12) === 'qt  ' ? 'mov' : 'mp4';
  return isUnbranded(head) ? 'mov' : undefined;
}

function sniffElements(head: Buffer): Container | undefined {
  if (!head.subarray(0, EBML_MAGIC.length).equals(EBML_MAGIC)) return undefined;
  const header = head.subarray(0, EBML_HEADER_BYTES);
  const at = header.indexOf(DOC_TYPE_ID);
  // The type is shorter than 127 bytes, so that its length is one byte with the highest bit set.
  const type = at < 0 ? '' : header.toString('latin1', at + 3, at + 3 + ((header[at + 2] ?? 0) & 0x7f));
  if (type === 'webm') return 'webm';
  return type === 'matroska' ? 'mkv' : undefined;
}
