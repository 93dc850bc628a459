import type { VideoInspection } from '../../src/media';
import { boxOf } from './boxes';
import { inspect } from './inspect';
import { asLiveRecording } from './live-recording';
import { makeVideo } from './make-video';

const reasonOf = (inspection: VideoInspection) =>
  inspection.kind === 'no-video' ? inspection.reason : inspection.end;

describe('a video in fragments', () => {
  it('states its end by the index after them', async () => {
    expect(reasonOf(await inspect(await makeVideo('MP4 of fragments', 64, 48, 2)))).toBe('checked');
  });

  it('that was cut between two of them passes, with an end that is not stated', async () => {
    const file = await makeVideo('MP4 of fragments', 64, 48, 2);
    expect(reasonOf(await inspect(file.subarray(0, boxOf(file, 'mfra').at)))).toBe('not-stated');
    const starts = [...file.toString('latin1').matchAll(/moof/g)].map(({ index }) => index - 4);
    expect(reasonOf(await inspect(file.subarray(0, starts[2])))).toBe('not-stated');
  });
});

describe('a live recording in Matroska', () => {
  const CLUSTER = Buffer.from('1f43b675', 'hex');
  const CUES = Buffer.from('1c53bb6b', 'hex');

  it('states its end by the index after its parts', async () => {
    expect(reasonOf(await inspect(asLiveRecording(await makeVideo('Matroska'))))).toBe('checked');
  });

  it('that was cut between two of its parts passes, with an end that is not stated', async () => {
    const file = await makeVideo('Matroska of a live recording');
    expect(file.indexOf(CLUSTER)).toBeGreaterThan(0);
    expect(reasonOf(await inspect(file.subarray(0, file.lastIndexOf(CUES))))).toBe('not-stated');
  });
});
