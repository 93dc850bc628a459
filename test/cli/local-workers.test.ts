import { imagesFrom } from '../../src/cli/local-workers';

const GATEWAY = 'http://127.0.0.1:8787';

test.each([
  ['http://localhost:4000/', GATEWAY],
  ['http://[::1]:4000/', GATEWAY],
  ['https://api.example.com/', undefined],
  [undefined, undefined],
])('a service at %s fetches images from %s', (baseUrl, expected) => {
  expect(imagesFrom([undefined, { baseUrl }], GATEWAY)).toBe(expected);
});
