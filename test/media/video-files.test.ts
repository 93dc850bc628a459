import type { VideoFacts } from '../../src/contract/job';
import type { VideoRequest } from '../../src/contract/request';
import type { VideoInspection } from '../../src/media';
import { describeMismatches } from '../../src/media/compare-with-request';
import { expectedOf } from '../../workflows/generate-video';
import { atLength } from '../support/nightly';
import { inspect } from './inspect';
import { box, boxOf, FORMS, type Form, isForm, makeVideo } from './make-video';

const WINDOW = 4 * 1024 * 1024;
const ALL_FORMS = Object.keys(FORMS).filter(isForm);

const files = new Map<Form, Buffer>();
beforeAll(async () => {
  for (const form of ALL_FORMS) files.set(form, await makeVideo(form));
});
const fileOf = (form: Form) => files.get(form) ?? Buffer.alloc(0);

const reasonOf = (inspection: VideoInspection) =>
  inspection.kind === 'no-video' ? inspection.reason : 'it is a video';

/** Changes the tables as if all pictures were that many bytes later. */
function movePictures(file: Buffer, by: number): void {
  const table = file.indexOf('stco') + 8;
  for (let entry = 0; entry < file.readUInt32BE(table); entry++) {
    const at = table + 4 + 4 * entry;
    file.writeUInt32BE(file.readUInt32BE(at) + by, at);
  }
}

const SEGMENT = Buffer.from('18538067', 'hex');

/** Turns a Matroska file into a live recording, whose Segment has no size. */
function asLiveRecording(file: Buffer): Buffer {
  const live = Buffer.from(file);
  const sizeAt = live.indexOf(SEGMENT) + SEGMENT.length;
  const sizeBytes = Math.clz32(live[sizeAt] ?? 0) - 23;
  live.fill(0xff, sizeAt, sizeAt + sizeBytes);
  live[sizeAt] = 0xff >> (sizeBytes - 1);
  return live;
}

describe('a complete video has its facts', () => {
  it.each<[Form, container: string, durationSeconds: number, end: string]>([
    ['MP4 that begins with its tables', 'mp4', 4, 'checked'],
    ['MP4 that ends with its tables', 'mp4', 4, 'checked'],
    ['MP4 of fragments', 'mp4', 4, 'checked'],
    ['QuickTime', 'mov', 4, 'checked'],
    ['Matroska', 'mkv', 4, 'checked'],
    // Without its last picture, whose length it does not state.
    ['Matroska of a live recording', 'mkv', 3.5, 'checked'],
    ['WebM', 'webm', 4, 'checked'],
  ])('as %s', async (form, container, durationSeconds, end) => {
    const facts = {
      container,
      codec: form === 'WebM' ? 'vp8' : 'avc',
      width: 64,
      height: 48,
      durationSeconds,
    };
    expect(await inspect(fileOf(form))).toEqual({ kind: 'video', facts, end });
  });

  it('as a live recording whose whole has no size, by the index after its parts', async () => {
    expect(await inspect(asLiveRecording(fileOf('Matroska')))).toMatchObject({
      kind: 'video',
      end: 'checked',
    });
  });
});

describe('a video that was cut is refused', () => {
  /** Bytes between two cuts near the ends, where the tables are. */
  const CUT_EVERY = atLength(37, 1);
  /** At the first and last bytes, near the ends, and at some between. */
  const cutsOf = ({ length }: Buffer) =>
    Array.from({ length }, (_, cut) => cut).filter((cut) => {
      const fromEnd = Math.min(cut, length - cut);
      return (
        fromEnd < atLength(12, 64) ||
        (fromEnd < 800 && cut % CUT_EVERY === 0) ||
        cut % atLength(199, 97) === 0
      );
    });

  /** Cuts between two parts, after which nothing shows that there was more. */
  const UNDETECTABLE: Partial<Record<Form, (file: Buffer) => number[]>> = {
    // Only the index for seeking, at the end, is missing.
    'MP4 of fragments': (file) => [boxOf(file, 'mfra').at],
    'Matroska of a live recording': (file) => [file.lastIndexOf(Buffer.from('1c53bb6b', 'hex'))],
  };

  it.each(ALL_FORMS)('wherever it was cut: %s', async (form) => {
    const file = fileOf(form);
    const passed: [cut: number, end: string][] = [];
    const undetectable = UNDETECTABLE[form]?.(file) ?? [];
    for (const cut of new Set([...undetectable, ...cutsOf(file)])) {
      const inspection = await inspect(file.subarray(0, cut));
      if (inspection.kind === 'video') passed.push([cut, inspection.end]);
    }
    expect(passed).toEqual(undetectable.map((cut) => [cut, 'not-stated']));
  });

  it('unless it was cut between two fragments, whose end is not stated', async () => {
    const file = await makeVideo('MP4 of fragments', 64, 48, 2);
    const starts = [...file.toString('latin1').matchAll(/moof/g)].map(({ index }) => index - 4);
    expect(await inspect(file.subarray(0, starts[2]))).toMatchObject({ kind: 'video', end: 'not-stated' });
  });

  it('even if its last box reaches the end, because its last picture is missing', async () => {
    const file = Buffer.from(fileOf('MP4 that begins with its tables'));
    file.writeUInt32BE(0, boxOf(file, 'mdat').at);
    expect(await inspect(file)).toMatchObject({ kind: 'video' });
    expect(reasonOf(await inspect(file.subarray(0, -1)))).toBe('its last picture is missing');
  });
});

describe('a file that is not a video', () => {
  it.each<[reason: string, file: Buffer | string]>([
    ['it is empty', ''],
    ['it begins like a web page', '<!doctype html><p>This link has expired.</p>'],
    ['it begins like JSON', '{"error": "expired"}'],
    ['it begins like a web page', '\ufeff<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml">'],
    ['it begins like a web page', '<!-- Made by hand --><html>'],
    ['it begins like XML', '<?xml version="1.0"?><Error><Code>AccessDenied</Code></Error>'],
    ['it does not begin like any known video', '{red fox}'],
    ['it does not begin like any known video', Buffer.from('1a45dfa3a34282836162630000000000', 'hex')],
    ['it begins like a playlist', '#EXTM3U\n#EXTINF:1,\nhttp://127.0.0.1:9/a.ts\n#EXT-X-ENDLIST\n'],
    ['it does not begin like any known video', Buffer.alloc(100_000)],
    [
      'it has no video track',
      Buffer.concat([box('ftyp', Buffer.from('isom\0\0\0\0')), box('moov', 0), box('mdat', 9)]),
    ],
  ])('is refused with the reason: %s', async (reason, file) => {
    expect(await inspect(file)).toEqual({ kind: 'no-video', reason });
  });

  it('whose bytes were changed is read or refused, and never throws', async () => {
    for (const form of ALL_FORMS) {
      // Byte 195 of a live recording is a Cluster that makes mediabunny read in circles.
      for (let at = 0; at < 1200; at += atLength(39, 13)) {
        const broken = Buffer.from(fileOf(form));
        broken[at] = 255 - (broken[at] ?? 0);
        expect((await inspect(broken)).kind).toMatch(/video/);
      }
    }
  });
});

describe('a file with the outermost parts of a video but without a picture is refused:', () => {
  const PAGE = Buffer.from('<html><p>This link has expired.</p></html>');

  it.each<Form>(['MP4 that begins with its tables', 'QuickTime', 'MP4 of fragments'])(
    'a web page instead of the pictures: %s',
    async (form) => {
      const file = Buffer.from(fileOf(form));
      const { at, size } = boxOf(file, 'mdat');
      file.fill(PAGE, at + 8, at + size);
      expect(reasonOf(await inspect(file))).toBe('its first picture is not valid');
    },
  );

  it.each<[Form, head: number]>([
    ['Matroska', 4096],
    ['WebM', 4096],
    ['Matroska of a live recording', 300],
  ])('the beginning of %s (%i bytes) and 10 MB of zeros', async (form, head) => {
    const whole = fileOf(form);
    const cluster = whole.indexOf(Buffer.from('1f43b675', 'hex'));
    const begin = asLiveRecording(whole).subarray(0, Math.min(head, cluster));
    expect((await inspect(Buffer.concat([begin, Buffer.alloc(10_000_000)]))).kind).toBe('no-video');
  });

  it('sound without pictures, and invalid tables', async () => {
    const file = Buffer.from(fileOf('MP4 that begins with its tables'));
    file.write('soun', file.indexOf('vide'), 'latin1');
    expect((await inspect(file)).kind).toBe('no-video');
    const { at, size } = boxOf(file, 'moov');
    file.fill(0xff, at + 8, at + size);
    expect((await inspect(file)).kind).toBe('no-video');
  });
});

describe('a large file', () => {
  const padding = box('free', 3 * WINDOW);

  it('has its facts when its tables and its pictures are far from its beginning', async () => {
    const file = fileOf('MP4 that ends with its tables');
    const large = Buffer.concat([file.subarray(0, 28), padding, file.subarray(28), padding]);
    movePictures(large, padding.length);
    expect(await inspect(large)).toMatchObject({ kind: 'video', facts: { width: 64, durationSeconds: 4 } });
    movePictures(large, 1);
    expect(reasonOf(await inspect(large))).toBe('its first picture is not valid');
  });

  it('has its facts when its tables are in the middle, and is refused when those are invalid', async () => {
    const file = fileOf('MP4 that ends with its tables');
    const { at, size } = boxOf(file, 'moov');
    const large = Buffer.concat([file.subarray(0, at), padding, file.subarray(at), padding]);
    expect(await inspect(large)).toMatchObject({
      kind: 'video',
      facts: { width: 64, height: 48, durationSeconds: 4 },
    });
    large.fill(0xff, at + padding.length + 8, at + padding.length + size);
    expect((await inspect(large)).kind).toBe('no-video');
  });

  it('is refused when it was cut in the middle', async () => {
    const file = Buffer.concat([fileOf('MP4 that begins with its tables'), padding, padding]);
    const cut = file.subarray(0, 5 * WINDOW);
    expect(reasonOf(await inspect(cut))).toMatch(/^it ends within its free box/);
  });

  it('with a box of more than 4 GiB is scanned by its long size', async () => {
    const head = Buffer.from('000000016d64617400000002000000ff', 'hex');
    const cut = Buffer.concat([fileOf('MP4 that begins with its tables'), head, Buffer.alloc(1000)]);
    expect(reasonOf(await inspect(cut))).toBe('it ends within its mdat box: 1016 of 8589934847 bytes');
  });
});

it('a note of a tool after the boxes is ignored', async () => {
  for (const note of [
    Buffer.alloc(100),
    Buffer.from('\u0000\u0000\u0001\u0000\u0001\u0002\u0003\u0004 note'),
  ]) {
    const file = Buffer.concat([fileOf('MP4 that begins with its tables'), note]);
    expect(await inspect(file)).toMatchObject({ kind: 'video', facts: { width: 64 } });
  }
});

const MAX_SAMPLES = 0x7fffffff;
const TOO_MUCH = 'reading its tables takes more time or memory than any video needs';

/** Adds a box to the tables of a video that ends with them. */
function withTable(file: Buffer, table: Buffer): Buffer {
  const at = boxOf(file, 'stts').at;
  const larger = Buffer.concat([file.subarray(0, at), table, file.subarray(at)]);
  for (const parent of ['moov', 'trak', 'mdia', 'minf', 'stbl']) {
    const { at, size } = boxOf(larger, parent);
    larger.writeUInt32BE(size + table.length, at);
  }
  return larger;
}

function ctts(samples: number): Buffer {
  const content = Buffer.alloc(16);
  content.writeUInt32BE(1, 4);
  content.writeUInt32BE(samples, 8);
  return box('ctts', content);
}

/** One entry states that the video has that many samples. */
function withSamples(file: Buffer, samples: number): Buffer {
  const larger = withTable(file, ctts(samples));
  larger.writeUInt32BE(samples, boxOf(larger, 'stts').at + 16);
  return larger;
}

const running = () => process.getActiveResourcesInfo().filter((name) => name === 'ProcessWrap').length;

describe('a video whose tables would take minutes and gigabytes to read', () => {
  it.each([
    ['stsz', 16],
    ['stco', 12],
  ])('is refused when its %s counts more than the file has bytes', async (table, countAt) => {
    const file = Buffer.from(await makeVideo('MP4 that ends with its tables'));
    file.writeUInt32BE(MAX_SAMPLES, boxOf(file, table).at + countAt);
    expect(await inspect(file)).toMatchObject({ kind: 'no-video' });
  });

  it('is refused when a fragment has such a table', async () => {
    const file = Buffer.from(await makeVideo('MP4 of fragments'));
    const { at } = boxOf(file, 'trun');
    file.writeUInt32BE(0, at + 8);
    file.writeUInt32BE(MAX_SAMPLES, at + 12);
    expect(await inspect(file)).toMatchObject({ kind: 'no-video' });
  });

  it('is refused when the file has enough bytes, without effect on other inspections', async () => {
    const file = await makeVideo('MP4 that ends with its tables');
    const samples = 12 * 1024 * 1024;
    const bomb = Buffer.concat([withSamples(file, samples), box('free', samples)]);
    const inspections = await Promise.all([bomb, file, file].map((one) => inspect(one)));
    expect(
      inspections.map((inspection) => (inspection.kind === 'video' ? 'video' : inspection.reason)),
    ).toEqual([TOO_MUCH, 'video', 'video']);
  });
});

test('an idle process or pipe does not keep this process alive', async () => {
  const keepAlive = () =>
    running() + process.getActiveResourcesInfo().filter((name) => name === 'PipeWrap').length;
  const before = keepAlive();
  await inspect(await makeVideo('QuickTime'));
  expect(keepAlive()).toBeLessThanOrEqual(before);
});

const REQUESTED: Partial<VideoRequest> = { resolution: '720p', aspect_ratio: '16:9', duration: 5 };
const MADE: VideoFacts = { width: 1280, height: 720, durationSeconds: 5 };

test.each<[what: string, request: Partial<VideoRequest>, facts: VideoFacts]>([
  ['matches its request', {}, {}],
  ['has a side that the codec rounded up', { resolution: '1080p' }, { width: 1920, height: 1088 }],
  ['is upright, as requested', { aspect_ratio: '9:16' }, { width: 720, height: 1280 }],
  ['has an even number for an odd one', { resolution: '480p' }, { width: 854, height: 480 }],
  ['is half a second shorter', {}, { durationSeconds: 4.5 }],
  ['is a tenth longer', { duration: 10 }, { durationSeconds: 11 }],
  ['has no readable facts', {}, { width: undefined, height: undefined, durationSeconds: undefined }],
  [
    'has no facts in its request',
    { resolution: undefined, aspect_ratio: undefined, duration: undefined },
    { width: 10, height: 10, durationSeconds: 60 },
  ],
  ['has a requested duration of 0', { duration: 0 }, {}],
])('there is no warning for a video that %s', (_what, request, facts) => {
  expect(describeMismatches({ ...REQUESTED, ...request }, { ...MADE, ...facts })).toEqual([]);
});

test.each<[what: string, facts: VideoFacts, sentences: string[]]>([
  ['is smaller', { width: 640, height: 360 }, ['720p was requested, but the video is 640x360']],
  ['has another aspect ratio', { width: 960, height: 720 }, ['16:9 was requested, but the video is 960x720']],
  ['lies on its side', { width: 720, height: 1280 }, ['16:9 was requested, but the video is 720x1280']],
  [
    'differs in everything',
    { width: 480, height: 480, durationSeconds: 1 },
    [
      '720p was requested, but the video is 480x480',
      '16:9 was requested, but the video is 480x480',
      '5 s were requested, but the video is 1 s long',
    ],
  ],
])('there is a warning for a video that %s', (_what, facts, sentences) => {
  expect(describeMismatches(REQUESTED, { ...MADE, ...facts })).toEqual(sentences);
});

test('a video is compared with the fields of its request that are set', () => {
  const fields = { resolution: '720p', aspect_ratio: '16:9', duration: 5, seed: 0 } as const;
  expect(expectedOf({ prompt: 'A fox', image_url: 'https://example.com', ...fields })).toEqual(fields);
  expect(expectedOf({ prompt: 'A fox', seed: undefined })).toStrictEqual({});
});
