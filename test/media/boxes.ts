/** A box of an MP4 file, with this content or so many zeros. */
export function box(type: string, content: Buffer | number): Buffer {
  const bytes = typeof content === 'number' ? Buffer.alloc(content) : content;
  const head = Buffer.alloc(8);
  head.writeUInt32BE(8 + bytes.length);
  head.write(type, 4, 'latin1');
  return Buffer.concat([head, bytes]);
}

/** Where the first box of a type begins, and how long it is. */
export function boxOf(file: Buffer, type: string): { at: number; size: number } {
  const at = file.indexOf(type) - 4;
  return { at, size: file.readUInt32BE(at) };
}
