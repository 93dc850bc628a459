import { HeaderWalk } from './header-walk';

const SHORT_HEADER_BYTES = 8;
const LONG_HEADER_BYTES = 16;
/** In place of a size: it stands behind the type, in eight bytes. */
const SIZE_FOLLOWS = 1;
/** In place of a size: the box goes to the end of the file. */
const TO_THE_END = 0;
/** Four characters that can be printed; QuickTime has a © among them. */
const TYPE = /^[\x20-\x7e\xa9]{4}$/;

/** The outermost boxes of an MP4 or QuickTime file as they pass, and what of them is missing in the end. */
export class BoxWalk {
  private readonly walk = new HeaderWalk((header, have, at) => this.read(header, have, at));
  private box = { type: '', at: 0, size: 0 };
  private hasMoov = false;
  private hasMdat = false;

  pass(chunk: Buffer): void {
    this.walk.pass(chunk);
  }

  /** What is not as it should be at the end of the file: one clause, for people. */
  problem(): string | undefined {
    const { passed, headerAt, have } = this.walk;
    if (have > 0) return 'it ends within the head of a box';
    // A box that goes to the end has got there.
    if (headerAt > passed && headerAt < Infinity) {
      const { type, at, size } = this.box;
      return `it ends within its ${type} box: ${passed - at} of ${size} bytes`;
    }
    if (!this.hasMoov) return 'its moov box is missing';
    return this.hasMdat ? undefined : 'its mdat box is missing';
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
    this.hasMoov ||= type === 'moov';
    this.hasMdat ||= type === 'mdat';
    this.box = { type, at, size };
    return size === TO_THE_END ? Infinity : size;
  }
}
