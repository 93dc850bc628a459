import type { VideoInspection } from '../../src/media';
import { box, boxOf } from './boxes';
import { inspect } from './inspect';
import { asLiveRecording } from './live-recording';
import { type Form, makeVideo } from './make-video';

const MEBIBYTE = 1024 * 1024;

const reasonOf = (inspection: VideoInspection) =>
  inspection.kind === 'no-video' ? inspection.reason : 'it is a video';
const BRAND = box('ftyp', Buffer.from('isom\0\0\0\0'));
const PAGE = Buffer.from('<html><p>This link has expired.</p></html>');

describe('a file with the outermost parts of a video but without a picture is refused', () => {
  it('two empty boxes', async () => {
    const file = Buffer.concat([BRAND, box('moov', 0), box('mdat', 0)]);
    expect(reasonOf(await inspect(file))).toBe('it has no video track');
  });

  it('a web page in a box', async () => {
    const file = Buffer.concat([BRAND, box('skip', 0), box('moov', 0), box('mdat', PAGE)]);
    expect(reasonOf(await inspect(file))).toBe('it has no video track');
  });

  it.each<Form>(['MP4 that begins with its tables', 'QuickTime', 'MP4 of fragments'])(
    'a web page instead of the pictures: %s',
    async (form) => {
      const file = Buffer.from(await makeVideo(form));
      const { at, size } = boxOf(file, 'mdat');
      file.fill(PAGE, at + 8, at + size);
      expect(reasonOf(await inspect(file))).toBe('its first picture is not valid');
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
    expect((await inspect(file)).kind).toBe('no-video');
  });

  it('invalid tables in the middle of a large file', async () => {
    const file = await makeVideo('MP4 that ends with its tables');
    const { at } = boxOf(file, 'moov');
    const padding = box('free', 6 * MEBIBYTE);
    const garbage = box('moov', Buffer.alloc(5000, 'garbage'));
    const large = Buffer.concat([file.subarray(0, at), padding, garbage, padding]);
    expect((await inspect(large)).kind).toBe('no-video');
  });

  it('sound without pictures', async () => {
    const file = Buffer.from(await makeVideo('MP4 that begins with its tables'));
    file.write('soun', file.indexOf('vide'), 'latin1');
    expect((await inspect(file)).kind).toBe('no-video');
  });
});
