import { type Colour, LUMA_SIDE, type Picture } from './picture';

/** A rectangle of the picture. Right and bottom are exclusive; infinite means to the edge of the picture. */
export interface Box {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

/** What a layer draws in one frame. */
export interface Shape {
  /** Contains the whole shape. */
  box: Box;
  /** `below` is the colour of the layers below at this point. */
  colourAt(x: number, y: number, below: Colour): Colour;
}

/** One thing in the picture. It returns the same object as for the previous frame if nothing changed. */
export type Layer = (frame: number) => Shape;

export function still(shape: Shape): Layer {
  return () => shape;
}

/** Paints a frame over the previous one, the first layer lowest, and only the macroblocks where a layer changed. */
export function paintLayers(picture: Picture, layers: Layer[], frame: number): void {
  const changed = new Set<number>();
  for (const layer of layers) {
    const before = frame > 0 ? layer(frame - 1) : undefined;
    const now = layer(frame);
    if (now === before) continue;
    addMacroblocks(changed, picture, now.box);
    if (before) addMacroblocks(changed, picture, before.box);
  }
  const shapes = layers.map((layer) => layer(frame));
  for (const macroblock of changed) {
    const left = (macroblock % picture.columns) * LUMA_SIDE;
    const top = Math.floor(macroblock / picture.columns) * LUMA_SIDE;
    const here = { left, top, right: left + LUMA_SIDE, bottom: top + LUMA_SIDE };
    const shapesHere = shapes.filter(({ box }) => overlap(box, here));
    picture.paint(macroblock, (x, y) => {
      let colour: Colour = 0;
      for (const shape of shapesHere) colour = shape.colourAt(x, y, colour);
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
