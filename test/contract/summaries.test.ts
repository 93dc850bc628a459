import { describeBatch } from '../../src/client/prepare-start';
import { describeJob, describeRequest, describeVideo } from '../../src/contract/summaries';
import { signedLinks } from '../support/signed-links';

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

  it('is short enough for a Temporal summary in any script', () => {
    const request = { resolution: '1080p', aspect_ratio: '21:9', duration: 10, image_url: 'https://x' };
    for (const letter of ['x', 'ж', '狐', '🦊']) {
      const line = describeRequest({ ...request, prompt: letter.repeat(1_000) });
      expect(Buffer.byteLength(line)).toBeLessThan(400);
    }
  });

  it.each([
    ['nothing', {}],
    ['nulls', { prompt: null, image_url: null, resolution: null, aspect_ratio: null, duration: null }],
    ['a prompt that is not text', { prompt: { toString: 5 }, duration: { valueOf: 1 } }],
    ['lists', { prompt: [[{ toString: null }]], resolution: [{ toString: null }], aspect_ratio: [] }],
    ['symbols', { prompt: Symbol('fox'), resolution: Symbol('4k'), duration: Symbol('5') }],
  ])('does not fail for %s', (_what, garbage) => {
    expect(describeRequest(garbage)).toBe('text to video: ""');
  });

  it('stays short when a field is not', () => {
    const line = describeRequest({ prompt: 'x', resolution: 'y'.repeat(1e6), aspect_ratio: 'z'.repeat(1e6) });
    expect(line.length).toBeLessThan(60);
  });

  it('has no secret of a link, even where it is cut', () => {
    const secret = 'a1B2c3D4e5F6g7H8i9J0';
    for (const link of signedLinks(secret)) {
      const request = { prompt: `As in ${link.trim()} so` };
      for (const summary of [describeRequest(request), describeBatch({ requests: [request] })]) {
        expect(summary).not.toContain(secret.slice(0, 8));
      }
    }
    const prompt = `${'x'.repeat(50)} https://example.com/${secret}/fox.png`;
    expect(describeRequest({ prompt })).not.toContain(secret.slice(0, 6));
  });

  it('does not fail for a link with more parts than a call can have arguments', () => {
    const prompt = `https://example.com/${'a.'.repeat(500_000)}`;
    expect(describeRequest({ prompt })).toMatch(/^text to video: "https:\/\/example\.com\/a\.a/);
  });
});

it.each([
  [{ requests: [{ prompt: 'A red fox' }, { prompt: 'An owl' }] }, 'batch of 2, the first: "A red fox"'],
  [{ requestsFrom: 'batches/foxes.jsonl' }, 'batch of batches/foxes.jsonl'],
  [{ requests: [] }, 'batch of 0, the first: ""'],
])('a batch of %j is described as %p', (batch, line) => {
  expect(describeBatch(batch)).toBe(line);
});

it.each([
  [{ request: { prompt: 'A red fox' } }, 'text to video: "A red fox"'],
  [{ taskId: 'task_1\n' }, 'adopt task task_1'],
])('a job with %j is described as %p', (job, line) => {
  expect(describeJob(job)).toBe(line);
});

describe('the line that describes a stored video', () => {
  const sha256 = 'ab'.repeat(32);
  const stored = { uri: 'file:///videos/fox.mp4', bytes: 1_948_997, sha256, contentType: 'video/mp4' };

  it.each([
    [
      { width: 1280, height: 720, durationSeconds: 5, codec: 'avc' },
      `1280x720, 5 s, avc, video/mp4, 1948997 bytes, SHA-256 ${sha256}`,
    ],
    [{}, `video/mp4, 1948997 bytes, SHA-256 ${sha256}`],
    [{ width: 1280 }, `video/mp4, 1948997 bytes, SHA-256 ${sha256}`],
    [{ height: 720 }, `video/mp4, 1948997 bytes, SHA-256 ${sha256}`],
    [{ durationSeconds: 5.041_666 }, `5.04 s, video/mp4, 1948997 bytes, SHA-256 ${sha256}`],
    [{ durationSeconds: 0.999 }, `1 s, video/mp4, 1948997 bytes, SHA-256 ${sha256}`],
  ])('has the known facts, such as %j', (facts, line) => {
    expect(describeVideo({ ...stored, ...facts })).toBe(line);
  });
});
