// Reads whole files, each after its length of four bytes on stdin, with mediabunny and nothing of ours. Answers a line each:
// `picture` when the first packet of a video track could be read, and why not otherwise.
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
  let held = Buffer.alloc(0);
  for await (const chunk of process.stdin) {
    held = Buffer.concat([held, chunk]);
    while (held.length >= 4 && held.length >= 4 + held.readUInt32BE()) {
      const end = 4 + held.readUInt32BE();
      process.stdout.write(`${await firstPicture(held.subarray(4, end))}\n`);
      held = held.subarray(end);
    }
  }
}

void main();
