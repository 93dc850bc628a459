import { redactLinks } from '../../src/contract/redact-links';

it.each([
  ['16 letters and digits', 'abcdefgh12345678'],
  ['such a run after a word', 'fox-abcdefgh12345678'],
  ['32 letters', 'abcdefghijklmnopqrstuvwxyzabcdef'],
  ['20 characters with both cases and a digit', 'aB3-cd-ef-gh-ij-kl-m'],
])('a name of %s in the path of a link is hidden', (_what, name) => {
  expect(redactLinks(`https://cdn.example.com/v/${name}/fox.mp4`)).toBe(
    'https://cdn.example.com/v/…/fox.mp4',
  );
  expect(redactLinks(`https://cdn.example.com/${name}.mp4`)).toBe('https://cdn.example.com/….mp4');
  expect(redactLinks(`/v/${name};sig=x`)).toBe('/v/…;…');
});

it.each([
  'abcdefgh1234567',
  'abcdefghijklmnopqrstuvwxyzabcde',
  'aB3-cd-ef-gh-ij-kl-',
  'a-red-fox-in-the-snow-2026',
  'A-Red-Fox-In-The-Snow',
  'A-RED-FOX-IN-THE-SNOW-2026',
  '1234567890123456',
  '!abcdefgh12345678',
  'abcdefgh12345678!',
])('the ordinary name %s in the path of a link stays', (name) => {
  const link = `https://cdn.example.com/${name}/fox.mp4`;
  expect(redactLinks(link)).toBe(link);
});

it.each([
  'https://abcdefgh12345678.example.com',
  'https://abcdefgh12345678.example.com/fox.mp4',
  'http://[fe80::abcd]:8080/fox.mp4',
  'http://localhost:8080/fox.mp4',
  'Really? https://example.com/fox?',
])('the host and the port of %s stay', (link) => {
  expect(redactLinks(link)).toBe(link);
});

it('what is neither a host nor a port is hidden, because it may be a password', () => {
  expect(redactLinks('redis://cache:1secret/0')).toBe('redis://…/0');
});
