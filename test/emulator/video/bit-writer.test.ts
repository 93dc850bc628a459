import { BitWriter } from '../../../src/testing/video/bit-writer';

/** The written bits, without the stop bit and the zeros that fill the last byte. */
const written = (writer: BitWriter) =>
  [...writer.finish()]
    .map((byte) => byte.toString(2).padStart(8, '0'))
    .join('')
    .replace(/10*$/, '');

describe('Exp-Golomb numbers are written as in table 9-2 of the standard', () => {
  it.each([
    [0, '1'],
    [1, '010'],
    [2, '011'],
    [3, '00100'],
    [7, '0001000'],
    [8159, '0000000000001111111100000'],
  ])('%i without a sign', (value, bits) => {
    expect(written(new BitWriter().unsigned(value))).toBe(bits);
  });

  it.each([
    [0, '1'],
    [1, '010'],
    [-1, '011'],
    [2, '00100'],
    [-2, '00101'],
  ])('%i with a sign', (value, bits) => {
    expect(written(new BitWriter().signed(value))).toBe(bits);
  });
});

test('a writer ends with a stop bit and fills its last byte with zeros', () => {
  expect(new BitWriter().bits(0b101, 3).finish()).toEqual(Buffer.from([0b1011_0000]));
  expect(new BitWriter().finish()).toEqual(Buffer.from([0x80]));
});

test('whole bytes follow on alignment, however many there are', () => {
  const bytes = Buffer.alloc(10_000, 0xab);
  const file = new BitWriter().flag(true).align().bytes(bytes, 0, bytes.length).finish();
  expect(file).toEqual(Buffer.concat([Buffer.from([0x80]), bytes, Buffer.from([0x80])]));
});
