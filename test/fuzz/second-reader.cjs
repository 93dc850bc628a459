// A strict reader of complete files, mediabunny alone, in a process that a file may crash. It answers each file with
// `picture`, when the first packet of a video track could be read, otherwise with the reason.
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
    return `an error: ${error}`;
  } finally {
    input.dispose();
  }
}

process.on('message', async (file) => process.send(await firstPicture(file)));
