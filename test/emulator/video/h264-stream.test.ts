import { H264Stream } from '../../../src/testing/video/h264';
import { Mosaic } from '../../../src/testing/video/mosaic';
import { SliceReader } from './slice-reader';

const GREY = 0x808080;
const RED = 0x515af0;

function start(width: number, height: number) {
  const picture = new Mosaic(width, height);
  const stream = new H264Stream(picture);
  const reader = new SliceReader(width, height);
  const send = () => {
    const { key, data } = stream.next();
    reader.read(data);
    expect(reader.picture.colours).toEqual(picture.colours);
    return { key, bytes: data.length, ...reader.counts };
  };
  return { send, paint: picture.paint.bind(picture), colours: picture.colours };
}

describe('a picture that is read back equals the one that was written', () => {
  it('when it has one colour: one macroblock is sent, the others copy it', () => {
    const { send, paint } = start(160, 80);
    paint(() => GREY);
    expect(send()).toMatchObject({ key: true, raw: 1, copied: 49, skipped: 0 });
  });

  it('when nothing changes: each frame takes a few bytes', () => {
    const { send, paint } = start(1920, 1080);
    paint(() => GREY);
    send();
    for (let frame = 1; frame < 20; frame++) {
      const sent = send();
      expect(sent).toMatchObject({ key: false, raw: 0, copied: 0, skipped: 8160 });
      expect(sent.bytes).toBeLessThan(20);
    }
  });

  it('when rows or columns are of one colour each', () => {
    const { send, paint } = start(160, 80);
    paint((_column, row) => (row << 16) | 0x8080);
    expect(send()).toMatchObject({ raw: 5, copied: 45 });
    paint((column) => ((100 + column) << 16) | 0x8080);
    expect(send()).toMatchObject({ raw: 10, copied: 40 });
  });

  it('when a shape moves over it, back and forth and over its edges', () => {
    const { send, paint } = start(640, 320);
    for (const left of [-8, 0, 3, 8, 16, 40, 39, 20]) {
      paint((column, row) => (Math.hypot(column - left, row - 10) < 7 ? RED : GREY));
      send();
    }
  });

  it('when it is noise with bytes that look like starts of units', () => {
    const { send, paint } = start(64, 48);
    let state = 1;
    for (let frame = 0; frame < 20; frame++) {
      paint(() => {
        state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
        return state >>> 30 === 0 ? state >>> 8 : (state >>> 28) & 3;
      });
      send();
    }
  });

  it('when only the last macroblock changes, and when only the last one does not', () => {
    const { send, paint, colours } = start(64, 48);
    paint(() => GREY);
    send();
    colours[11] = RED;
    expect(send()).toMatchObject({ raw: 1, skipped: 11 });
    paint(() => RED);
    expect(send()).toMatchObject({ raw: 1, copied: 10, skipped: 1 });
  });
});
