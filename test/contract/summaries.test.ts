import { describeBatch } from '../../src/client/prepare-start';
import { describeJob, describeRequest, staticJobDetails } from '../../src/contract/summaries';
import { signedLinks } from '../support/signed-links';

describe('the line that describes a request', () => {
  it.each([
    [{ prompt: 'A red fox' }, 'text to video: "A red fox"'],
    [
      { prompt: 'A red fox', resolution: '720p', aspect_ratio: '16:9', duration: 5, seed: 7 },
      'text to video, 720p 16:9 5 s: "A red fox"',
    ],
    [
      { prompt: 'It runs', image_url: 'https://example.com/fox.png?token=secret', aspect_ratio: '1:1' },
      'image to video, 1:1: "It runs"',
    ],
    [{ prompt: 'x'.repeat(80) }, `text to video: "${'x'.repeat(80)}"`],
    [{ prompt: 'x'.repeat(81) }, `text to video: "${'x'.repeat(79)}…"`],
    [{ prompt: `x${'🦊'.repeat(60)}` }, `text to video: "x${'🦊'.repeat(39)}…"`],
    // As a workflow is given it, before it is parsed.
    [{}, 'text to video: ""'],
    [{ prompt: null, image_url: null, resolution: null, duration: null }, 'text to video: ""'],
    [
      { prompt: { toString: 5 }, duration: { valueOf: 1 }, resolution: [{ toString: null }] },
      'text to video: ""',
    ],
  ])('of %p is %p', (request, line) => {
    expect(describeRequest(request)).toBe(line);
  });

  it('fits into a Temporal summary in any script, and stays short when a field is not', () => {
    const request = { resolution: '1080p', aspect_ratio: '21:9', duration: 10, image_url: 'https://x' };
    for (const letter of ['x', 'ж', '狐', '🦊'])
      expect(Buffer.byteLength(describeRequest({ ...request, prompt: letter.repeat(1_000) }))).toBeLessThan(
        400,
      );
    const long = { prompt: 'x', resolution: 'y'.repeat(1e6), aspect_ratio: 'z'.repeat(1e6) };
    expect(describeRequest(long).length).toBeLessThan(60);
  });

  it('has no secret of a link, even where it is cut', () => {
    const secret = 'a1B2c3D4e5F6g7H8i9J0';
    for (const link of signedLinks(secret)) {
      const request = { prompt: `As in ${link.trim()} so` };
      for (const summary of [describeRequest(request), describeBatch({ requests: [request] })])
        expect(summary).not.toContain(secret.slice(0, 8));
    }
    const prompt = `${'x'.repeat(50)} https://example.com/${secret}/fox.png`;
    expect(describeRequest({ prompt })).not.toContain(secret.slice(0, 6));
  });
});

it.each([
  [{ requests: [{ prompt: 'A red fox' }, { prompt: 'An owl' }] }, 'batch of 2, the first: "A red fox"'],
  [{ requestsFrom: 'batches/foxes.jsonl' }, 'batch of batches/foxes.jsonl'],
])('a batch of %j is described as %p', (batch, line) => {
  expect(describeBatch(batch)).toBe(line);
});

it.each([
  [{ request: { prompt: 'A red fox' } }, 'text to video: "A red fox"'],
  [{ taskId: 'task_1\n' }, 'adopt task task_1'],
])('a job with %j is described as %p', (job, line) => {
  expect(describeJob(job)).toBe(line);
});

describe('the details of a job', () => {
  it('show its whole prompt and the other fields of its request, or the task that it adopts', () => {
    const prompt = `A red fox ${'runs '.repeat(60)}in the snow`;
    expect(
      staticJobDetails({ request: { prompt, resolution: '720p', duration: 5, seed: 7 }, deadline: '90m' }),
    ).toBe(`> ${prompt}\n\n- resolution: \`720p\`\n- duration: \`5\`\n- seed: \`7\``);
    expect(staticJobDetails({ taskId: 'task_`1`' })).toBe('Adopts task task\\_\\`1\\`');
  });

  it.each([
    ['https://cdn.example.com/fox.png?X-Amz-Signature=secret', '`https://cdn.example.com/fox.png?…`'],
    ['https://me:secret@example.com/fox.png', '`https://…@example.com/fox.png`'],
    ['data:image/png;base64,c2VjcmV0', '`data:…`'],
  ])('show the image %s without secrets and without its bytes', (image_url, redacted) => {
    const details = staticJobDetails({ request: { prompt: `like ${image_url}`, image_url } });
    expect(details).toContain(`- image\\_url: ${redacted}`);
    expect(details).not.toMatch(/secret|c2VjcmV0/);
  });

  it('show a prompt with markdown as plain text', () => {
    const prompt = 'A ![fox](https://example.com/track.png) <b>in</b> `snow` \n# and | _more_ \u001b[31m';
    expect(staticJobDetails({ request: { prompt } })).toContain(
      '> A \\!\\[fox\\](https://example.com/track.png) \\<b\\>in\\</b\\> \\`snow\\` \\# and \\| \\_more\\_\n',
    );
  });

  it.each(['x', '狐', '🦊', '#', '"', '\\'])('of many %s fit into what Temporal accepts', (letter) => {
    const long = letter.repeat(10_000);
    const fields = Array.from({ length: 100 }, (_, index) => [`${index}${letter.repeat(50)}`, long]);
    const details = staticJobDetails({
      request: { prompt: long, ...Object.fromEntries(fields) },
      storage: long,
    });
    expect(Buffer.byteLength(JSON.stringify(details))).toBeLessThan(20_000);
    expect(details.length).toBeLessThanOrEqual(6_000);
    expect(details).toMatch(/^> .+…\n\n/);
  });
});
