import type { VideoInspection } from '../../src/media';
import { box, boxOf } from './boxes';
import { lookAt } from './inspect';
import { asLiveRecording } from './live-recording';
import { type Form, makeVideo } from './make-video';

const MEBIBYTE = 1024 * 1024;

const reasonOf = (look: VideoInspection) => (look.kind === 'no-video' ? look.reason : 'it is a video');
const PAGE = Buffer.from('<html><p>This link has expired.</p></html>');

describe('what has the outermost parts of a video and no picture is none', () => {
  it('two empty boxes', async () => {
    const file = Buffer.concat([box('moov', 0), box('mdat', 0)]);
    expect(reasonOf(await lookAt(file))).toBe('no video track is in it');
  });

  it('a web page in a box', async () => {
    const file = Buffer.concat([box('skip', 0), box('moov', 0), box('mdat', PAGE)]);
    expect(reasonOf(await lookAt(file))).toBe('no video track is in it');
  });

  it.each<Form>(['MP4 that begins with its tables', 'QuickTime', 'MP4 of fragments'])(
    'a web page in place of the pictures: %s',
    async (form) => {
      const file = Buffer.from(await makeVideo(form));
      const { at, size } = boxOf(file, 'mdat');
      file.fill(PAGE, at + 8, at + size);
      expect(reasonOf(await lookAt(file))).toBe('its first picture is none');
    },
  );

  it.each<[Form, head: number]>([
    ['Matroska', 4096],
    ['WebM', 4096],
    ['Matroska of a live recording', 4096],
    ['Matroska of a live recording', 300],
  ])('the beginning of %s (%i bytes) and 10 MB of zeros', async (form, head) => {
    const whole = await makeVideo(form);
    const cluster = whole.indexOf(Buffer.from('1f43b675', 'hex'));
    const begin = asLiveRecording(whole).subarray(0, Math.min(head, cluster));
    const file = Buffer.concat([begin, Buffer.alloc(10 * MEBIBYTE)]);
    expect((await lookAt(file, 65_536)).kind).toBe('no-video');
  });

  it('tables that make no sense, in the middle of a large file', async () => {
    const file = await makeVideo('MP4 that ends with its tables');
    const { at } = boxOf(file, 'moov');
    const padding = box('free', 6 * MEBIBYTE);
    const garbage = box('moov', Buffer.alloc(5000, 'garbage'));
    const large = Buffer.concat([file.subarray(0, at), padding, garbage, padding]);
    expect((await lookAt(large, 65_536)).kind).toBe('no-video');
  });

  it('sound without pictures', async () => {
    const file = Buffer.from(await makeVideo('MP4 that begins with its tables'));
    file.write('soun', file.indexOf('vide'), 'latin1');
    expect((await lookAt(file)).kind).toBe('no-video');
  });
});
