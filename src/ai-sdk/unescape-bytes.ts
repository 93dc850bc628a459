const PERCENT = 0x25;

/** The bytes of a data URL that is not base64; a % that begins no escape stays one. Decodes in place: it may be a video. */
export function unescapeBytes(text: string): Buffer {
  const bytes = Buffer.from(text);
  let written = 0;
  for (let read = 0; read < bytes.length; read++) {
    const byte = bytes[read] ?? 0;
    const escaped = byte === PERCENT ? readHex(bytes, read + 1) : undefined;
    bytes[written++] = escaped ?? byte;
    if (escaped !== undefined) read += 2;
  }
  return bytes.subarray(0, written);
}

function readHex(bytes: Buffer, at: number): number | undefined {
  const hex = bytes.toString('latin1', at, at + 2);
  return /^[0-9a-f]{2}$/i.test(hex) ? Number.parseInt(hex, 16) : undefined;
}
