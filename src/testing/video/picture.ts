/** A macroblock: 16 x 16 luma samples, then 8 x 8 of each chroma. */
export const LUMA_SIDE = 16;
export const LUMA_BYTES = 256;
export const CHROMA_SIDE = 8;
export const CHROMA_BYTES = 64;
export const MACROBLOCK_BYTES = LUMA_BYTES + 2 * CHROMA_BYTES;

/** A colour as one number, 0xYYUUVV. */
export type Paint = number;

/** A rectangle of the picture. Right and bottom are exclusive, and may lie beyond its edge. */
export interface Box {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

/**
 * A picture of whole macroblocks, in the order in which H.264 sends them. It may have up to 15 samples more to the right
 * and below than are shown.
 */
export class Picture {
  readonly columns: number;
  readonly rows: number;
  readonly data: Buffer;

  /** Width and height must be even: chroma has half as many samples each way. */
  constructor(
    readonly width: number,
    readonly height: number,
  ) {
    this.columns = Math.ceil(width / LUMA_SIDE);
    this.rows = Math.ceil(height / LUMA_SIDE);
    this.data = Buffer.alloc(this.columns * this.rows * MACROBLOCK_BYTES);
  }

  get macroblocks(): number {
    return this.columns * this.rows;
  }

  /** Gives each sample of the macroblocks that the boxes touch the colour at its position in the picture. */
  paint(boxes: Box[], colourAt: (x: number, y: number) => Paint): void {
    const touched = new Set<number>();
    for (const { left, top, right, bottom } of boxes) {
      const lastRow = Math.min(this.rows, Math.ceil(bottom / LUMA_SIDE));
      const lastColumn = Math.min(this.columns, Math.ceil(right / LUMA_SIDE));
      for (let row = Math.max(0, Math.floor(top / LUMA_SIDE)); row < lastRow; row++) {
        let column = Math.max(0, Math.floor(left / LUMA_SIDE));
        for (; column < lastColumn; column++) touched.add(row * this.columns + column);
      }
    }
    for (const macroblock of touched) this.paintMacroblock(macroblock, colourAt);
  }

  private paintMacroblock(macroblock: number, colourAt: (x: number, y: number) => Paint): void {
    const left = (macroblock % this.columns) * LUMA_SIDE;
    const top = Math.floor(macroblock / this.columns) * LUMA_SIDE;
    const start = macroblock * MACROBLOCK_BYTES;
    for (let y = 0; y < LUMA_SIDE; y++) {
      for (let x = 0; x < LUMA_SIDE; x++) {
        const colour = colourAt(left + x, top + y);
        this.data[start + y * LUMA_SIDE + x] = colour >>> 16;
        // One chroma sample stands for four of luma.
        if (x % 2 === 1 || y % 2 === 1) continue;
        const chroma = start + LUMA_BYTES + (y / 2) * CHROMA_SIDE + x / 2;
        this.data[chroma] = colour >>> 8;
        this.data[chroma + CHROMA_BYTES] = colour;
      }
    }
  }
}
