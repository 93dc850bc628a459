import {
  claimsToBeImageReference,
  IMAGE_TYPES,
  imageKey,
  parseImageReference,
} from '../../src/storage/images';

const SHA256 = '5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3c6ef';

it.each(Object.entries(IMAGE_TYPES))('the reference to a %s is read as written', (extension, contentType) => {
  const name = `web_shop/${SHA256}.${extension}`;
  const reference = { name, owner: 'web_shop', sha256: SHA256, contentType };
  const url = `videogen-image:${name}`;
  expect(parseImageReference(url)).toEqual(reference);
  expect(imageKey(reference)).toBe(`images/web_shop/${SHA256}.${extension}`);
});

it.each([
  `shop/${SHA256}.png`,
  `https:shop/${SHA256}.png`,
  `VIDEOGEN-IMAGE:shop/${SHA256}.png`,
  `shop/${SHA256}.png videogen-image:`,
  `videogen-image:shop/${SHA256}.svg`,
  `videogen-image:shop/${SHA256}.PNG`,
  `videogen-image:shop/${SHA256}.png?size=2`,
  `videogen-image:shop/${SHA256.slice(1)}.png`,
  `videogen-image:../${SHA256}.png`,
  `videogen-image:/shop/${SHA256}.png`,
  'videogen-image:',
])('%s is no reference of exactly our form', (url) => {
  expect(parseImageReference(url)).toBeUndefined();
});

it.each([
  ['videogen-image:shop/fox.png', true],
  ['VIDEOGEN-image:x', true],
  [' videogen-image:x\n', true],
  ['https://example.com/videogen-image:x', false],
  ['data:image/png;base64,iVBORw0KGgo=', false],
  ['fox.png', false],
  ['', false],
])('whether %j claims to be a reference: %s', (url, claims) => {
  expect(claimsToBeImageReference(url)).toBe(claims);
});
