import type { VideoFacts } from '../../src/contract/job';
import type { VideoRequest } from '../../src/contract/request';
import { endInspector, inspectFile, type VideoInspection } from '../../src/media';
import { describeMismatches } from '../../src/media/compare-with-request';
import { expectedOf } from '../../workflows/generate-video';
import { INSPECT_ENTRY } from '../support/inspect-entry';
import { atLength } from '../support/nightly';
import { inspect } from './inspect';
import { box, boxOf, FORMS, type Form, isForm, makeVideo } from './make-video';

const ALL_FORMS = Object.keys(FORMS).filter(isForm);

const files = new Map<Form, Buffer>();
beforeAll(async () => {
  for (const form of ALL_FORMS) files.set(form, await makeVideo(form));
});
/** A copy, which a test may change. */
const fileOf = (form: Form) => Buffer.from(files.get(form) ?? '');

const reasonOf = (inspection: VideoInspection) =>
  inspection.kind === 'no-video' ? inspection.reason : 'it is a video';

const TOO_MUCH = 'reading its tables takes more time or memory than any video needs';
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
  it.each<[Form, container: string, durationSeconds: number]>([
    ['MP4 that begins with its tables', 'mp4', 4],
    ['MP4 that ends with its tables', 'mp4', 4],
    ['MP4 of fragments', 'mp4', 4],
    ['QuickTime', 'mov', 4],
    ['Matroska', 'mkv', 4],
    // Without its last picture, whose length it does not state.
    ['Matroska of a live recording', 'mkv', 3.5],
    ['WebM', 'webm', 4],
  ])('as %s', async (form, container, durationSeconds) => {
    const codec = form === 'WebM' ? 'vp8' : 'avc';
    const facts = { container, codec, width: 64, height: 48, durationSeconds };
    expect(await inspect(fileOf(form))).toEqual({ kind: 'video', facts, end: 'checked' });
  });

  it('as a live recording whose whole has no size, by the index after its parts', async () => {
    expect(await inspect(asLiveRecording(fileOf('Matroska')))).toMatchObject({
      kind: 'video',
      end: 'checked',
    });
  });

  it('although a tool left a note after its boxes', async () => {
    const note = Buffer.from('\u0000\u0000\u0001\u0000\u0001\u0002\u0003\u0004 note');
    for (const rest of [Buffer.alloc(100), note]) {
      const file = Buffer.concat([fileOf('MP4 that begins with its tables'), rest]);
      expect(await inspect(file)).toMatchObject({ kind: 'video', facts: { width: 64 } });
    }
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
    const file = fileOf('MP4 that begins with its tables');
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
    ['it does not begin like any known video', Buffer.from('1a45dfa3a34282836162630000000000', 'hex')],
    ['it begins like a playlist', '#EXTM3U\n#EXTINF:1,\nhttp://127.0.0.1:9/a.ts\n#EXT-X-ENDLIST\n'],
    [
      'it has no video track',
      Buffer.concat([box('ftyp', Buffer.from('isom\0\0\0\0')), box('moov', 0), box('mdat', 9)]),
    ],
  ])('is refused with the reason: %s', async (reason, file) => {
    expect(await inspect(file)).toEqual({ kind: 'no-video', reason });
  });

  it('is read or refused when its bytes were changed, and never throws', async () => {
    // Byte 195 is a Cluster that makes mediabunny read in circles. The other forms: test/fuzz/targets/videos.ts.
    for (let at = 0; at < 1200; at += atLength(39, 13)) {
      const broken = fileOf('Matroska of a live recording');
      broken[at] = 255 - (broken[at] ?? 0);
      expect((await inspect(broken)).kind).toMatch(/video/);
    }
  });

  const PAGE = Buffer.from('<html><p>This link has expired.</p></html>');

  it.each<Form>(['MP4 that begins with its tables', 'QuickTime', 'MP4 of fragments'])(
    'is refused when it has a web page instead of its pictures: %s',
    async (form) => {
      const file = fileOf(form);
      const { at, size } = boxOf(file, 'mdat');
      file.fill(PAGE, at + 8, at + size);
      expect(reasonOf(await inspect(file))).toBe('its first picture is not valid');
    },
  );

  it('is refused when it is the beginning of a live recording and 10 MB of zeros', async () => {
    const whole = fileOf('Matroska of a live recording');
    const cluster = whole.indexOf(Buffer.from('1f43b675', 'hex'));
    const zeros = Buffer.alloc(10_000_000);
    expect((await inspect(Buffer.concat([whole.subarray(0, cluster), zeros]))).kind).toBe('no-video');
  });

  it('is refused when it has sound without pictures, or invalid tables', async () => {
    const file = fileOf('MP4 that begins with its tables');
    file.write('soun', file.indexOf('vide'), 'latin1');
    expect((await inspect(file)).kind).toBe('no-video');
    const { at, size } = boxOf(file, 'moov');
    file.fill(0xff, at + 8, at + size);
    expect((await inspect(file)).kind).toBe('no-video');
  });
});

describe('a large file', () => {
  const padding = box('free', 12 * 1024 * 1024);

  /** Changes the tables as if all pictures were that many bytes later. */
  function movePictures(file: Buffer, by: number): void {
    const table = file.indexOf('stco') + 8;
    for (let entry = 0; entry < file.readUInt32BE(table); entry++) {
      const at = table + 4 + 4 * entry;
      file.writeUInt32BE(file.readUInt32BE(at) + by, at);
    }
  }

  it('has its facts when its tables and its pictures are far from its beginning', async () => {
    const file = fileOf('MP4 that ends with its tables');
    const large = Buffer.concat([file.subarray(0, 28), padding, file.subarray(28), padding]);
    movePictures(large, padding.length);
    expect(await inspect(large)).toMatchObject({ kind: 'video', facts: { width: 64, durationSeconds: 4 } });
    movePictures(large, 1);
    expect(reasonOf(await inspect(large))).toBe('its first picture is not valid');
    expect(reasonOf(await inspect(large.subarray(0, -1)))).toMatch(/^it ends within its free box/);
  });

  it('with a box of more than 4 GiB is scanned by its long size', async () => {
    const head = Buffer.from('000000016d64617400000002000000ff', 'hex');
    const cut = Buffer.concat([fileOf('MP4 that begins with its tables'), head, Buffer.alloc(1000)]);
    expect(reasonOf(await inspect(cut))).toBe('it ends within its mdat box: 1016 of 8589934847 bytes');
  });
});

describe('a video whose tables would take minutes and gigabytes to read', () => {
  const MAX_SAMPLES = 0x7fffffff;

  it('is refused when its table counts more than the file has bytes', async () => {
    const file = fileOf('MP4 that ends with its tables');
    file.writeUInt32BE(MAX_SAMPLES, boxOf(file, 'stsz').at + 16);
    expect(await inspect(file)).toMatchObject({ kind: 'no-video' });
  });

  it('is refused when a fragment has such a table, without effect on other inspections', async () => {
    const bomb = fileOf('MP4 of fragments');
    const { at } = boxOf(bomb, 'trun');
    bomb.writeUInt32BE(0, at + 8);
    bomb.writeUInt32BE(MAX_SAMPLES, at + 12);
    // A used process would be replaced, and the file inspected once more: see below.
    endInspector();
    const others = [fileOf('QuickTime'), fileOf('WebM')];
    const inspections = await Promise.all([bomb, ...others].map((one) => inspect(one)));
    expect(inspections.map(reasonOf)).toEqual([TOO_MUCH, 'it is a video', 'it is a video']);
  });
});

describe('the process that inspects videos', () => {
  const entry = [...INSPECT_ENTRY];
  beforeEach(() => endInspector());
  afterEach(() => {
    endInspector();
    jest.useRealTimers();
    INSPECT_ENTRY.splice(0, Infinity, ...entry);
  });

  /** Another program instead of it, which says that it is ready, and then does this with each path. */
  function replaceBy(withPath: string): void {
    const program = `process.send({}); process.on('message', (path) => { ${withPath} });`;
    INSPECT_ENTRY.splice(0, Infinity, '-e', program);
  }
  const answer = (more: string) =>
    `process.send({ inspection: { kind: 'no-video', reason: String(process.pid) }, ${more} });`;
  const SMALL = 'rssBytes: 1e6';
  const answerOf = async (path: string) => reasonOf(await inspectFile(path));

  it('does not keep this process alive while it is idle, nor does its pipe', async () => {
    const keepAlive = () =>
      process.getActiveResourcesInfo().filter((name) => name === 'ProcessWrap' || name === 'PipeWrap').length;
    const before = keepAlive();
    await inspect(fileOf('QuickTime'));
    expect(keepAlive()).toBeLessThanOrEqual(before);
  });

  it('says that a file cannot be read, and does not call it a bad video', async () => {
    await expect(inspectFile('/no/such/video')).rejects.toThrow(
      'the file cannot be inspected: Error: ENOENT',
    );
  });

  it('is replaced when it has grown too large', async () => {
    replaceBy(answer('rssBytes: 1e9'));
    expect(await answerOf('a')).not.toBe(await answerOf('b'));
  });

  it('is replaced once when it dies over a file, and the next file is inspected', async () => {
    replaceBy(`if (path === 'bad') process.exit(1); ${answer(SMALL)}`);
    const first = await answerOf('good');
    expect(await answerOf('bad')).toBe(TOO_MUCH);
    const next = await answerOf('good');
    expect(next).toMatch(/^\d+$/);
    expect(next).not.toBe(first);
  });

  it('is killed when it hangs over a file, and the next file is inspected', async () => {
    replaceBy(`if (path === 'bad') for (;;); ${answer(SMALL)}`);
    await answerOf('good');
    jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'performance'] });
    const hanging = answerOf('bad');
    await new Promise((resolve) => setImmediate(resolve));
    await jest.advanceTimersByTimeAsync(20_000);
    expect(await hanging).toBe(TOO_MUCH);
    jest.useRealTimers();
    expect(await answerOf('good')).toMatch(/^\d+$/);
  });

  it('that cannot start is said, and no file is blamed', async () => {
    INSPECT_ENTRY.splice(0, Infinity, '/no/such/inspect-process.js');
    await expect(inspectFile('a')).rejects.toThrow(
      /^The process that inspects videos did not start: \/no\/such\/inspect-process.js must exist as a file of its own, not bundled/,
    );
  });
});

describe('a video is compared with its request', () => {
  const REQUESTED: Partial<VideoRequest> = { resolution: '720p', aspect_ratio: '16:9', duration: 5 };
  const MADE: VideoFacts = { width: 1280, height: 720, durationSeconds: 5 };

  const mismatches = (request: Partial<VideoRequest>, facts: VideoFacts) =>
    describeMismatches({ ...REQUESTED, ...request }, { ...MADE, ...facts });

  it.each<[what: string, request: Partial<VideoRequest>, facts: VideoFacts]>([
    ['has a side that the codec rounded up', { resolution: '1080p' }, { width: 1920, height: 1088 }],
    ['is upright, as requested', { aspect_ratio: '9:16' }, { width: 720, height: 1280 }],
    ['has an even number for an odd one', { resolution: '480p' }, { width: 854, height: 480 }],
    ['is half a second shorter', {}, { durationSeconds: 4.5 }],
    ['is a tenth longer', { duration: 10 }, { durationSeconds: 11 }],
    ['has no readable facts', {}, { width: undefined, height: undefined, durationSeconds: undefined }],
    [
      'has no facts in its request',
      { resolution: undefined, aspect_ratio: undefined, duration: 0 },
      { width: 10, height: 10, durationSeconds: 60 },
    ],
  ])('without a warning when it %s', (_what, request, facts) => {
    expect(mismatches(request, facts)).toEqual([]);
  });

  it('with a warning for each difference', () => {
    expect(mismatches({}, { width: 640, height: 360 })).toEqual([
      '720p was requested, but the video is 640x360',
    ]);
    expect(mismatches({}, { width: 720, height: 1280 })).toEqual([
      '16:9 was requested, but the video is 720x1280',
    ]);
    expect(mismatches({}, { width: 480, height: 480, durationSeconds: 1 })).toEqual([
      '720p was requested, but the video is 480x480',
      '16:9 was requested, but the video is 480x480',
      '5 s were requested, but the video is 1 s long',
    ]);
  });

  it('by the fields of the request that are set', () => {
    const fields = { resolution: '720p', aspect_ratio: '16:9', duration: 5, seed: 0 } as const;
    expect(expectedOf({ prompt: 'A fox', image_url: 'https://example.com', ...fields })).toEqual(fields);
    expect(expectedOf({ prompt: 'A fox', seed: undefined })).toStrictEqual({});
  });
});
