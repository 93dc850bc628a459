import { type Colour, LUMA_SIDE, type Picture } from '../media';

/** A part of the picture, from its left and top to before its right and bottom; infinite where it ends with it. */
export interface Box {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

/** A thing as it is in one frame. */
export interface Placed {
  /** Nothing of it is outside. */
  box: Box;
  colourAt(x: number, y: number, under: Colour): Colour;
}

/** One thing in the picture: where and how it is in a frame. The same object again means that nothing has changed. */
export type Layer = (frame: number) => Placed;

/** Paints a frame over the one before, the first layer lowest: only the macroblocks in which something changes. */
export function paintLayers(picture: Picture, layers: Layer[], frame: number): void {
  const touched = new Set<number>();
  for (const layer of layers) {
    const before = frame > 0 ? layer(frame - 1) : undefined;
    const now = layer(frame);
    if (now === before) continue;
    addMacroblocks(touched, picture, now.box);
    if (before) addMacroblocks(touched, picture, before.box);
  }
  const all = layers.map((layer) => layer(frame));
  for (const macroblock of touched) {
    const left = (macroblock % picture.columns) * LUMA_SIDE;
    const top = Math.floor(macroblock / picture.columns) * LUMA_SIDE;
    const here = { left, top, right: left + LUMA_SIDE, bottom: top + LUMA_SIDE };
    const present = all.filter(({ box }) => overlap(box, here));
    picture.paint(macroblock, (x, y) => {
      let colour: Colour = 0;
      for (const layer of present) colour = layer.colourAt(x, y, colour);
      return colour;
    });
  }
}

function overlap(a: Box, b: Box): boolean {
  return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
}

function addMacroblocks(into: Set<number>, { columns, rows }: Picture, box: Box): void {
  const firstColumn = Math.max(0, Math.floor(box.left / LUMA_SIDE));
  const lastColumn = Math.min(columns, Math.ceil(box.right / LUMA_SIDE));
  const lastRow = Math.min(rows, Math.ceil(box.bottom / LUMA_SIDE));
  for (let row = Math.max(0, Math.floor(box.top / LUMA_SIDE)); row < lastRow; row++) {
    for (let column = firstColumn; column < lastColumn; column++) into.add(row * columns + column);
  }
}
