import { describeRequest } from '../../src/contract/summaries';

describe('the line that describes a request', () => {
  it.each([
    [{ prompt: 'A red fox' }, 'text to video: "A red fox"'],
    [
      { prompt: 'A red fox', resolution: '720p', aspect_ratio: '16:9', duration: 5, seed: 7 },
      'text to video, 720p 16:9 5 s: "A red fox"',
    ],
    [{ prompt: 'A red fox', duration: 0 }, 'text to video, 0 s: "A red fox"'],
    [
      { prompt: 'It runs', image_url: 'https://example.com/fox.png?token=secret', aspect_ratio: '1:1' },
      'image to video, 1:1: "It runs"',
    ],
    [{ prompt: ' A\tred\n\nfox\u001b[31m ' }, 'text to video: "A red fox"'],
  ])('of %j is %p', (request, line) => {
    expect(describeRequest(request)).toBe(line);
  });

  it('cuts a long prompt at 80 characters', () => {
    expect(describeRequest({ prompt: 'x'.repeat(80) })).toBe(`text to video: "${'x'.repeat(80)}"`);
    expect(describeRequest({ prompt: 'x'.repeat(81) })).toBe(`text to video: "${'x'.repeat(79)}…"`);
  });

  it('never cuts a character in half', () => {
    expect(describeRequest({ prompt: `x${'🦊'.repeat(60)}` })).toBe(`text to video: "x${'🦊'.repeat(39)}…"`);
    expect(describeRequest({ prompt: '🦊'.repeat(60) })).toBe(`text to video: "${'🦊'.repeat(39)}…"`);
  });

  it('is short enough for a summary of Temporal in any script', () => {
    const request = { resolution: '1080p', aspect_ratio: '21:9', duration: 10, image_url: 'https://x' };
    for (const letter of ['x', 'ж', '狐', '🦊']) {
      const line = describeRequest({ ...request, prompt: letter.repeat(1_000) });
      expect(Buffer.byteLength(line)).toBeLessThan(400);
    }
  });

  it.each([
    ['nothing', {}],
    ['nulls', { prompt: null, image_url: null, resolution: null, aspect_ratio: null, duration: null }],
    ['a prompt that is no text', { prompt: { toString: 5 }, duration: { valueOf: 1 } }],
    ['lists', { prompt: [[{ toString: null }]], resolution: [{ toString: null }], aspect_ratio: [] }],
    ['symbols', { prompt: Symbol('fox'), resolution: Symbol('4k'), duration: Symbol('5') }],
  ])('can be had of %s', (_what, garbage) => {
    expect(describeRequest(garbage)).toBe('text to video: ""');
  });

  it('stays short when a field is not', () => {
    const line = describeRequest({ prompt: 'x', resolution: 'y'.repeat(1e6), aspect_ratio: 'z'.repeat(1e6) });
    expect(line.length).toBeLessThan(60);
  });
});
