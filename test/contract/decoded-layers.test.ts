import { decodedLayers } from '../../src/contract/decoded-layers';

const textsOf = (text: string) => [...decodedLayers(text)].map((layer) => layer.text);

it.each([
  ['plain words', []],
  ['100 % & more', []],
  ['a\\/b', ['a/b']],
  ['a%252Fb', ['a%2Fb', 'a/b']],
  ['\\\\', ['\\']],
  ['&amp;#x2f;', ['&#x2f;', '/']],
  ['&#x10ffff;', ['\u{10ffff}']],
  ['&#x110000;', []],
])('%j is read as it is, and without its escapes', (text, decoded) => {
  expect(textsOf(text)).toEqual([text, ...decoded]);
});

it('escapes are decoded five times at most, however deep they are nested', () => {
  expect(textsOf(`%${'25'.repeat(20)}`)).toHaveLength(6);
});

it('each character of a decoded text is known to come from its escape', () => {
  const text = 'a&#x1F98A;b\\/';
  const [, layer] = decodedLayers(text);
  const originOf = (start: number, end: number) => {
    const range = layer?.origin({ start, end });
    return text.slice(range?.start, range?.end);
  };
  expect(layer?.text).toBe('a🦊b/');
  expect([originOf(0, 1), originOf(1, 3), originOf(3, 4), originOf(4, 5)]).toEqual([
    'a',
    '&#x1F98A;',
    'b',
    '\\/',
  ]);
  expect(originOf(2, 4)).toBe('&#x1F98A;b');
});

it('a text that ends with an escape is known to its end', () => {
  const [, layer] = decodedLayers('fox\\/');
  expect(layer?.origin({ start: 0, end: 4 })).toEqual({ start: 0, end: 5 });
});
