import { nalUnit } from '../../../src/testing/video/bit-writer';

const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex');

test.each([
  ['00 00 00', '65 00 00 03 00'],
  ['00 00 01', '65 00 00 03 01'],
  ['00 00 03', '65 00 00 03 03'],
  ['00 00 04', '65 00 00 04'],
  ['00 00 00 00 00', '65 00 00 03 00 00 03 00'],
  ['01 00 01 00', '65 01 00 01 00'],
])('a unit with the content %s contains no start of another unit', (content, unit) => {
  expect(nalUnit(0x65, hex(content))).toEqual(hex(unit));
});

test('a unit of zeros has room for all inserted bytes', () => {
  expect(nalUnit(0x65, Buffer.alloc(100_000))).toHaveLength(1 + 100_000 + 49_999);
});
