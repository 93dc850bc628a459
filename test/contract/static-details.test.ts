import { staticJobDetails } from '../../src/contract/summaries';

describe('the details of a job', () => {
  it('show its whole prompt and the other fields of its request', () => {
    const prompt = `A red fox ${'runs '.repeat(60)}in the snow`;
    expect(
      staticJobDetails({ request: { prompt, resolution: '720p', duration: 5, seed: 7 }, deadline: '90m' }),
    ).toBe(`> ${prompt}\n\n- resolution: \`720p\`\n- duration: \`5\`\n- seed: \`7\``);
  });

  it('show the task that it adopts', () => {
    expect(staticJobDetails({ taskId: 'task_1' })).toBe('Adopts task task\\_1');
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
    expect(staticJobDetails({ taskId: '`a`' })).toContain('\\`a\\`');
  });

  it.each(['x', '狐', '🦊', '#', '"', '\\'])('of many %s fit into what Temporal accepts', (letter) => {
    const long = letter.repeat(10_000);
    const fields = Object.fromEntries(
      Array.from({ length: 100 }, (_, index) => [`${index}${letter.repeat(50)}`, long]),
    );
    for (const details of [staticJobDetails({ request: { prompt: long, ...fields }, storage: long })]) {
      expect(Buffer.byteLength(JSON.stringify(details))).toBeLessThan(20_000);
      expect(details.length).toBeLessThanOrEqual(6_000);
    }
    expect(staticJobDetails({ request: { prompt: long, ...fields } })).toMatch(/^> .+…\n\n/);
  });
});
