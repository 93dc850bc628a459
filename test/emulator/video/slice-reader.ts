import { Mosaic } from '../../../src/testing/video/mosaic';

const LUMA_BYTES = 256;
const CHROMA_BYTES = 64;
const MACROBLOCK_BYTES = LUMA_BYTES + 2 * CHROMA_BYTES;

/** As much of an H.264 decoder as our streams need, written from the standard and without code of the writer. */
export class SliceReader {
  readonly picture: Mosaic;
  /** How many macroblocks of the last slice were skipped, copied from a neighbour and sent as they are. */
  counts = { skipped: 0, copied: 0, raw: 0 };
  private bytes: Buffer = Buffer.alloc(0);
  private position = 0;

  constructor(width: number, height: number) {
    this.picture = new Mosaic(width, height);
  }

  /** One sample of an MP4 file: a length of four bytes, and a unit with one slice. */
  read(sample: Buffer): void {
    expect(sample.readUInt32BE()).toBe(sample.length - 4);
    this.bytes = withoutGuards(sample.subarray(5));
    this.position = 0;
    this.counts = { skipped: 0, copied: 0, raw: 0 };
    const key = this.readHeader((sample[4] ?? 0) & 0x1f);
    const full = new Set<number>();
    for (let macroblock = 0; macroblock < this.picture.colours.length; macroblock++) {
      if (!key) {
        const run = this.unsigned();
        this.counts.skipped += run;
        macroblock += run;
        if (macroblock >= this.picture.colours.length) break;
      }
      this.readMacroblock(macroblock, this.unsigned() - (key ? 0 : 5), full);
    }
    expect(this.bits(1)).toBe(1);
    expect(Math.ceil(this.position / 8)).toBe(this.bytes.length);
  }

  private readHeader(unitType: number): boolean {
    const key = unitType === 5;
    expect([this.unsigned(), this.unsigned(), this.unsigned()]).toEqual([0, key ? 7 : 5, 0]);
    this.bits(4);
    if (key) this.unsigned();
    this.bits(key ? 2 : 3);
    expect([this.unsigned(), this.unsigned()]).toEqual([0, 1]);
    return key;
  }

  private readMacroblock(macroblock: number, type: number, full: Set<number>): void {
    const { columns, colours } = this.picture;
    if (type === 25) {
      this.position = Math.ceil(this.position / 8) * 8;
      const from = this.position / 8;
      colours[macroblock] = colourOf(this.bytes.subarray(from, from + MACROBLOCK_BYTES));
      this.position += 8 * MACROBLOCK_BYTES;
      full.add(macroblock);
      this.counts.raw++;
      return;
    }
    const above = type === 1;
    expect([type, this.unsigned(), this.unsigned()]).toEqual([above ? 1 : 2, above ? 2 : 1, 0]);
    const left = macroblock % columns > 0 ? macroblock - 1 : undefined;
    const neighbours = [left, macroblock >= columns ? macroblock - columns : undefined];
    const coefficients = neighbours
      .filter((one) => one !== undefined)
      .map((one): number => (full.has(one) ? 16 : 0));
    const sum = coefficients.reduce((total, count) => total + count, 0);
    const context = coefficients.length === 2 ? (sum + 1) >> 1 : sum;
    expect(context < 2 ? this.bits(1) : this.bits(6)).toBe(context < 2 ? 1 : 0b000011);
    colours[macroblock] = colours[above ? macroblock - columns : macroblock - 1] ?? 0;
    this.counts.copied++;
  }

  private bits(count: number): number {
    let value = 0;
    for (let i = 0; i < count; i++, this.position++) {
      value = value * 2 + (((this.bytes[this.position >> 3] ?? 0) >> (7 - (this.position & 7))) & 1);
    }
    return value;
  }

  private unsigned(): number {
    let zeros = 0;
    while (this.bits(1) === 0) zeros++;
    return 2 ** zeros - 1 + this.bits(zeros);
  }
}

function withoutGuards(unit: Buffer): Buffer {
  const content = [...unit].filter((byte, i) => !(byte === 3 && unit[i - 1] === 0 && unit[i - 2] === 0));
  return Buffer.from(content);
}

/** Every sample of a plane must be the same. */
function colourOf(samples: Buffer): number {
  expect(samples).toHaveLength(MACROBLOCK_BYTES);
  const planes = [
    samples.subarray(0, LUMA_BYTES),
    samples.subarray(LUMA_BYTES, LUMA_BYTES + CHROMA_BYTES),
    samples.subarray(LUMA_BYTES + CHROMA_BYTES),
  ];
  const [luma = -1, u = -1, v = -1] = planes.map((plane) => {
    const values = new Set(plane);
    expect(values.size).toBe(1);
    return [...values][0];
  });
  return (luma << 16) | (u << 8) | v;
}
