import { HeaderWalk } from './header-walk';

const SHORT_HEADER_BYTES = 8;
const LONG_HEADER_BYTES = 16;
/** In place of a size: it stands behind the type, in eight bytes. */
const SIZE_FOLLOWS = 1;
/** In place of a size: the box goes to the end of the file. */
const TO_THE_END = 0;
/** Four characters that can be printed; QuickTime has a © among them. */
const TYPE = /^[\x20-\x7e\xa9]{4}$/;

/** The tables of four hours of film with sound. A service that makes seconds of video sends a thousandth of it. */
export const MOST_MOOV_BYTES = 16 * 1024 * 1024;

/** Those of which the first is told of. */
const KNOWN_TYPES = new Set(['moov', 'moof', 'mdat']);

export interface Box {
  type: string;
  at: number;
  /** Infinity when it goes to the end of the file. */
  size: number;
}

/** The outermost boxes of an MP4 or QuickTime file as they pass, and what of them is missing in the end. */
export class BoxWalk {
  private readonly walk = new HeaderWalk((header, have, at) => this.read(header, have, at));
  private box: Box = { type: '', at: 0, size: 0 };
  private readonly firsts = new Map<string, Box>();

  /** `onFirst` hears of the first box of each type when its header has passed. */
  constructor(private readonly onFirst: (box: Box, header: Buffer) => void = () => undefined) {}

  pass(chunk: Buffer): void {
    this.walk.pass(chunk);
  }

  /** What is not as it should be at the end of the file: one clause, for people. */
  problem(): string | undefined {
    const { passed, headerAt, have, isEndless } = this.walk;
    if (isEndless) return 'it has more boxes than any video needs';
    if (have > 0) return 'it ends within the head of a box';
    // A box that goes to the end has got there.
    if (headerAt > passed && headerAt < Infinity) {
      const { type, at, size } = this.box;
      return `it ends within its ${type} box: ${passed - at} of ${size} bytes`;
    }
    const moov = this.firsts.get('moov');
    if (!moov) return 'its moov box is missing';
    const moovBytes = Math.min(moov.size, passed - moov.at);
    if (moovBytes > MOST_MOOV_BYTES) return `its moov box has ${moovBytes} bytes, more than any video needs`;
    return this.firsts.has('mdat') ? undefined : 'its mdat box is missing';
  }

  /** Whether the last part of a file in fragments has come: the index that stands behind all of them. */
  get endsWithIndex(): boolean {
    return this.box.type === 'mfra';
  }

  private read(header: Buffer, have: number, at: number): number | undefined {
    if (have < SHORT_HEADER_BYTES) return undefined;
    const shortSize = header.readUInt32BE(0);
    const isLong = shortSize === SIZE_FOLLOWS;
    if (isLong && have < LONG_HEADER_BYTES) return undefined;
    const size = isLong ? Number(header.readBigUInt64BE(8)) : shortSize;
    const type = header.toString('latin1', 4, 8);
    // What follows the boxes and is none may be the padding or the note of a tool: players pass over it.
    if (!TYPE.test(type)) return Infinity;
    if (size !== TO_THE_END && size < have) return Infinity;
    this.box = { type, at, size: size === TO_THE_END ? Infinity : size };
    this.hearOf(this.box, header.subarray(0, have));
    return this.box.size;
  }

  private hearOf(box: Box, header: Buffer): void {
    // Types are a file's own words: those that nobody asks for are not collected.
    if (!KNOWN_TYPES.has(box.type) || this.firsts.has(box.type)) return;
    this.firsts.set(box.type, box);
    this.onFirst(box, header);
  }
}
