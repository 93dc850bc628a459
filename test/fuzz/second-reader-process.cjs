// Reads files from stdin, each after its length in four bytes, with mediabunny alone. Prints one line per file: `picture`
// when the first packet of a video track could be read, otherwise the reason.
const {
  BufferSource,
  EncodedPacketSink,
  Input,
  Logging,
  LogLevel,
  MATROSKA,
  MP4,
  MPEG_TS,
  QTFF,
  WEBM,
} = require('mediabunny');

Logging.level = LogLevel.Silent;

async function firstPicture(file) {
  const input = new Input({ formats: [MP4, QTFF, WEBM, MATROSKA, MPEG_TS], source: new BufferSource(file) });
  try {
    const track = await input.getPrimaryVideoTrack();
    if (!track) return 'no video track';
    const packet = await new EncodedPacketSink(track).getFirstPacket();
    if (!packet) return 'no packet';
    return packet.data.length > 0 ? 'picture' : 'an empty packet';
  } catch (error) {
    return `an error: ${String(error).replaceAll('\n', ' ')}`;
  } finally {
    input.dispose();
  }
}

async function main() {
  let pending = Buffer.alloc(0);
  for await (const chunk of process.stdin) {
    pending = Buffer.concat([pending, chunk]);
    while (pending.length >= 4 && pending.length >= 4 + pending.readUInt32BE()) {
      const end = 4 + pending.readUInt32BE();
      process.stdout.write(`${await firstPicture(pending.subarray(4, end))}\n`);
      pending = pending.subarray(end);
    }
  }
}

void main();
