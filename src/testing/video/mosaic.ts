/** The side of a macroblock: H.264 codes a picture in squares of 16 by 16 samples. */
export const SQUARE = 16;

/** A colour as one number, 0xYYUUVV. */
export type Colour = number;

/** A picture of macroblocks that have one colour each. The last ones may lie beyond its right and lower edge. */
export class Mosaic {
  readonly columns: number;
  readonly rows: number;
  /** Row by row, in the order in which H.264 sends them. */
  readonly colours: Uint32Array;

  /** Width and height must be even: chroma has half as many samples each way. */
  constructor(
    readonly width: number,
    readonly height: number,
  ) {
    this.columns = Math.ceil(width / SQUARE);
    this.rows = Math.ceil(height / SQUARE);
    this.colours = new Uint32Array(this.columns * this.rows);
  }

  paint(colourAt: (column: number, row: number) => Colour): void {
    for (let row = 0; row < this.rows; row++) {
      for (let column = 0; column < this.columns; column++) {
        this.colours[row * this.columns + column] = colourAt(column, row);
      }
    }
  }
}
