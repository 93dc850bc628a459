import { createHash } from 'node:crypto';
import { LARGEST_IMAGE_BYTES } from '../../src/storage/images';

const decode = (base64: string) => Buffer.from(base64, 'base64');

/** One pixel each. */
export const PNG = decode(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
);
export const GIF = decode('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7');
export const WEBP = decode('UklGRiIAAABXRUJQVlA4IBYAAAAwAQCdASoBAAEADsD+JaQAA3AAAAAA');
export const JPEG = Buffer.concat([
  decode(
    '/9j/4AAQSkZJRgABAQEASABIAAD/2wBDAP//////////////////////////////////////////////////////////////////////////////////////wgALCAABAAEBAREA/8QAFBABAAAAAAAAAAAAAAAAAAAAAP/aAAgBAQABPxA=',
  ),
  Buffer.from([0xff, 0xd9]),
]);

export const SVG = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>');
export const HTML = Buffer.from('<!doctype html><script>alert(1)</script>');

/** A PNG of exactly this many bytes: readers ignore what follows its end. */
export const pngOf = (bytes: number) => Buffer.concat([PNG, Buffer.alloc(bytes - PNG.length)]);

export const LARGEST_PNG = () => pngOf(LARGEST_IMAGE_BYTES);
export const TOO_LARGE_PNG = () => pngOf(LARGEST_IMAGE_BYTES + 1);

export const sha256Of = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');

export const dataUrl = (bytes: Buffer, type = 'image/png') =>
  `data:${type};base64,${bytes.toString('base64')}`;
