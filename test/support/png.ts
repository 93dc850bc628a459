import { inflateSync } from 'node:zlib';

/** The pixels of a PNG of 8 bits a channel, three bytes each. */
export interface Pixels {
  width: number;
  height: number;
  rgb: Buffer;
}

/** A reader of its own: what ffmpeg wrote is not checked with ffmpeg. */
export function readPng(png: Buffer): Pixels {
  const width = png.readUInt32BE(16);
  const height = png.readUInt32BE(20);
  const [depth, colours] = [png[24], png[25]];
  if (depth !== 8 || colours !== 2) throw new Error(`a PNG of ${depth} bits and colour type ${colours}`);
  const data: Buffer[] = [];
  for (let at = 8; at < png.length; at += 12 + png.readUInt32BE(at)) {
    const length = png.readUInt32BE(at);
    if (png.toString('latin1', at + 4, at + 8) === 'IDAT') data.push(png.subarray(at + 8, at + 8 + length));
  }
  const lines = inflateSync(Buffer.concat(data));
  const stride = 3 * width;
  const rgb = Buffer.alloc(stride * height);
  for (let y = 0; y < height; y++) {
    const filter = lines[y * (stride + 1)] ?? 0;
    for (let x = 0; x < stride; x++) {
      const left = x < 3 ? 0 : (rgb[y * stride + x - 3] ?? 0);
      const up = y === 0 ? 0 : (rgb[(y - 1) * stride + x] ?? 0);
      const corner = x < 3 || y === 0 ? 0 : (rgb[(y - 1) * stride + x - 3] ?? 0);
      rgb[y * stride + x] = (lines[y * (stride + 1) + 1 + x] ?? 0) + predicted(filter, left, up, corner);
    }
  }
  return { width, height, rgb };
}

function predicted(filter: number, left: number, up: number, corner: number): number {
  switch (filter) {
    case 0:
      return 0;
    case 1:
      return left;
    case 2:
      return up;
    case 3:
      return Math.floor((left + up) / 2);
    default: {
      const guess = left + up - corner;
      const [a, b, c] = [Math.abs(guess - left), Math.abs(guess - up), Math.abs(guess - corner)];
      if (a <= b && a <= c) return left;
      return b <= c ? up : corner;
    }
  }
}

/** The mean of all channels. */
export function brightness({ rgb }: Pixels): number {
  return rgb.reduce((sum, value) => sum + value, 0) / rgb.length;
}
