import { readFile } from 'node:fs/promises';
import { BufferSource, EncodedPacketSink, Input, MP4 } from 'mediabunny';

export interface Film {
  seconds: number;
  tracks: number;
  /** The encoded pictures in order, each with its timestamp. */
  pictures: { at: number; data: string }[];
}

export async function readFilm(path: string): Promise<Film> {
  const input = new Input({ source: new BufferSource(await readFile(path)), formats: [MP4] });
  try {
    const track = await input.getPrimaryVideoTrack();
    if (!track) throw new Error(`${path} has no pictures`);
    const pictures: Film['pictures'] = [];
    for await (const { timestamp, data } of new EncodedPacketSink(track).packets()) {
      pictures.push({ at: timestamp, data: Buffer.from(data).toString('base64') });
    }
    const { length: tracks } = await input.getTracks();
    return { seconds: await input.computeDuration(), tracks, pictures };
  } finally {
    input.dispose();
  }
}
