import { printable, printableJson, shown } from '../../src/contract/clean-text';
import { hostileText, STEERING } from '../support/hostile-text';
import { fc } from '../support/properties';

test('what may be written to a terminal has no control character but the ends of its lines', () => {
  expect(printable('a\u001b[31mb\r\n\tc\u202e\u009bd\n')).toBe('ab \n c  d\n');
  fc.assert(fc.property(hostileText, (text) => !STEERING.test(printable(text))));
});

test('a name is shown on one line', () => {
  expect(shown('fox\nDone. Now type: rm -rf x')).toBe('fox Done. Now type: rm -rf x');
  fc.assert(fc.property(hostileText, (text) => !STEERING.test(shown(text)) && !shown(text).includes('\n')));
});

test('JSON on a terminal is read back to the letter', () => {
  const value = fc.oneof(hostileText, fc.string({ unit: 'binary' }));
  fc.assert(
    fc.property(value, (text) => {
      const json = printableJson({ [text]: [text] });
      expect(json).not.toMatch(STEERING);
      expect(json).not.toContain('\n');
      expect(JSON.parse(json)).toEqual(JSON.parse(JSON.stringify({ [text]: [text] })));
    }),
  );
});
