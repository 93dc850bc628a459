import { batchAtStart, jobAtStart } from '../../src/contract/static-details';

describe('the details of a job', () => {
  it('tell its prompt, the other fields of its request, and how it is done', () => {
    expect(
      jobAtStart({
        request: { prompt: 'A red fox in the snow', resolution: '720p', duration: 5, seed: 7 },
        deadline: '90m',
        storage: 'foxes/',
        queues: { submit: 'videos-submit' },
      }),
    ).toBe(
      [
        '**Text to video**',
        '> A red fox in the snow',
        '- resolution: `720p`\n- duration: `5`\n- seed: `7`',
        '- deadline: `1 h 30 min`\n- storage: `foxes/`\n- submit queue: `videos-submit`',
      ].join('\n\n'),
    );
  });

  it('tell the task that it adopts, and the deadline that it has without one of its own', () => {
    expect(jobAtStart({ taskId: 'task_1' })).toBe('**Adopts task `task_1`**\n\n- deadline: `1 h`');
  });

  it.each([
    ['https://cdn.example.com/fox.png?X-Amz-Signature=secret', '`https://cdn.example.com/fox.png?…`'],
    ['https://me:secret@example.com/fox.png', '`https://…@example.com/fox.png`'],
    ['data:image/png;base64,c2VjcmV0', '`data:…`'],
  ])('tell the image %s without what may be a secret, or large', (image_url, told) => {
    const details = jobAtStart({ request: { prompt: `like ${image_url}`, image_url } });
    expect(details).toContain(`- image\\_url: ${told}`);
    expect(details).toContain('**Image to video**');
    expect(details).not.toMatch(/secret|c2VjcmV0/);
  });

  it('show a prompt with markdown in it as it was written', () => {
    const prompt = 'A ![fox](https://example.com/track.png) <b>in</b> `snow` \n# and | _more_ \u001b[31m';
    expect(jobAtStart({ request: { prompt } })).toContain(
      '> A \\!\\[fox\\](https://example.com/track.png) \\<b\\>in\\</b\\> \\`snow\\` \\# and \\| \\_more\\_\n',
    );
    expect(jobAtStart({ taskId: '`a`' })).toContain('`` `a` ``');
  });

  it.each(['x', '狐', '🦊', '#', '"', '\\'])('of %s again and again are what Temporal takes', (letter) => {
    const long = letter.repeat(10_000);
    const fields = Object.fromEntries(
      Array.from({ length: 100 }, (_, index) => [`${index}${letter.repeat(50)}`, long]),
    );
    for (const details of [
      jobAtStart({ request: { prompt: long, ...fields }, storage: long }),
      batchAtStart({ requests: Array.from({ length: 100 }, () => ({ prompt: long })), storage: long }),
      batchAtStart({ requestsFrom: long }),
    ]) {
      expect(Buffer.byteLength(JSON.stringify(details))).toBeLessThan(20_000);
    }
    expect(jobAtStart({ request: { prompt: long, ...fields } })).toMatch(
      /^\*\*Text to video\*\*\n\n> .+…\n\n/,
    );
  });
});

describe('the details of a batch', () => {
  it('tell how many there are, the first prompts, and how they are done', () => {
    const requests = Array.from({ length: 12 }, (_, index) => ({ prompt: `Fox ${index + 1}` }));
    const details = batchAtStart({ requests, window: 5, onFailure: 'stop' });
    expect(details).toMatch(
      /^\*\*12 videos\*\*\n\n- window: `5`\n- onFailure: `stop`\n- deadline: `1 h`\n\n1\. Fox 1\n/,
    );
    expect(details).toMatch(/10\. Fox 10\n\nand 2 more$/);
    expect(batchAtStart({ requests: [{ prompt: 'Fox' }] })).toMatch(/^\*\*One video\*\*\n/);
  });

  it('tell the file that the requests are in', () => {
    expect(batchAtStart({ requestsFrom: 'in/foxes.jsonl' })).toBe(
      '**A video for each line of `in/foxes.jsonl` in the storage**\n\n- window: `20`\n- onFailure: `continue`\n- deadline: `1 h`',
    );
  });
});
