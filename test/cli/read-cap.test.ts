import { readCap } from '../../src/cli/read-cap';

test('limits in different units are one cap', () => {
  expect(readCap(['3 videos', '20 seconds', '2.50 USD'])).toEqual({
    videos: 3,
    seconds: 20,
    money: { amount: 2.5, currency: 'USD' },
  });
});

test.each([
  [['2 USD', '300 USD'], '--cap has two limits in money: give one.'],
  [['2 USD', '1 EUR'], '--cap has two limits in money: give one.'],
  [['1 video', '5 videos'], '--cap has two limits in videos: give one.'],
  [
    ['1.2.3 USD'],
    '--cap is "1.2.3 USD": give a number with videos, seconds or a currency, such as "2.50 USD".',
  ],
])('%j is refused', (given, sentence) => {
  expect(() => readCap(given)).toThrow(sentence);
});
