import { staticBatchDetails, staticJobDetails } from '../../src/contract/static-details';

describe('the details of a job', () => {
  it('show its prompt, the other fields of its request, and its options', () => {
    expect(
      staticJobDetails({
        request: { prompt: 'A red fox in the snow', resolution: '720p', duration: 5, seed: 7 },
        deadline: '90m',
        storage: 'foxes/',
        onLostSubmit: 'fail',
        queues: { submit: 'videos-submit', download: 'videos-download' },
      }),
    ).toBe(
      [
        '**Text to video**',
        '> A red fox in the snow',
        '- resolution: `720p`\n- duration: `5`\n- seed: `7`',
        '- deadline: `1 h 30 min`\n- storage: `foxes/`\n- onLostSubmit: `fail`\n- submit queue: `videos-submit`\n- download queue: `videos-download`',
      ].join('\n\n'),
    );
  });

  it('show what it may cost, who started it, and at which services', () => {
    const options = { cap: { videos: 2 }, caller: 'web_shop', deadline: '2h' };
    expect(staticJobDetails({ taskId: 'task_1', ...options, service: 'sora' })).toMatch(
      /- deadline: `2 h`\n- cap: `{"videos":2}`\n- caller: `web_shop`\n- service: `sora`$/,
    );
    expect(staticJobDetails({ request: { prompt: 'x' }, services: ['sora', 'veo'] })).toMatch(
      /- services: `sora, veo`$/,
    );
  });

  it('show the task that it adopts, and the default deadline', () => {
    expect(staticJobDetails({ taskId: 'task_1' })).toBe('**Adopts task `task_1`**\n\n- deadline: `1 h`');
  });

  it.each([
    ['https://cdn.example.com/fox.png?X-Amz-Signature=secret', '`https://cdn.example.com/fox.png?…`'],
    ['https://me:secret@example.com/fox.png', '`https://…@example.com/fox.png`'],
    ['data:image/png;base64,c2VjcmV0', '`data:…`'],
  ])('show the image %s without secrets and without its bytes', (image_url, redacted) => {
    const details = staticJobDetails({ request: { prompt: `like ${image_url}`, image_url } });
    expect(details).toContain(`- image\\_url: ${redacted}`);
    expect(details).toContain('**Image to video**');
    expect(details).not.toMatch(/secret|c2VjcmV0/);
  });

  it('show a prompt with markdown as plain text', () => {
    const prompt = 'A ![fox](https://example.com/track.png) <b>in</b> `snow` \n# and | _more_ \u001b[31m';
    expect(staticJobDetails({ request: { prompt } })).toContain(
      '> A \\!\\[fox\\](https://example.com/track.png) \\<b\\>in\\</b\\> \\`snow\\` \\# and \\| \\_more\\_\n',
    );
    expect(staticJobDetails({ taskId: '`a`' })).toContain('`` `a` ``');
  });

  it.each(['x', '狐', '🦊', '#', '"', '\\'])('of many %s fit into what Temporal accepts', (letter) => {
    const long = letter.repeat(10_000);
    const fields = Object.fromEntries(
      Array.from({ length: 100 }, (_, index) => [`${index}${letter.repeat(50)}`, long]),
    );
    for (const details of [
      staticJobDetails({ request: { prompt: long, ...fields }, storage: long }),
      staticBatchDetails({ requests: Array.from({ length: 100 }, () => ({ prompt: long })), storage: long }),
      staticBatchDetails({ requestsFrom: long }),
    ]) {
      expect(Buffer.byteLength(JSON.stringify(details))).toBeLessThan(20_000);
      expect(details.length).toBeLessThanOrEqual(6_000);
    }
    expect(staticJobDetails({ request: { prompt: long, ...fields } })).toMatch(
      /^\*\*Text to video\*\*\n\n> .+…\n\n/,
    );
  });
});

describe('the details of a batch', () => {
  it('show the number of videos, the first prompts, and the options', () => {
    const requests = Array.from({ length: 12 }, (_, index) => ({ prompt: `Fox ${index + 1}` }));
    const details = staticBatchDetails({ requests, window: 5, onFailure: 'stop' });
    expect(details).toMatch(
      /^\*\*12 videos\*\*\n\n- window: `5`\n- onFailure: `stop`\n- deadline: `1 h`\n\n1\. Fox 1\n/,
    );
    expect(details).toMatch(/10\. Fox 10\n\nand 2 more$/);
    expect(staticBatchDetails({ requests: requests.slice(0, 10) })).toMatch(/10\. Fox 10$/);
    expect(staticBatchDetails({ requests: [{ prompt: 'Fox' }] })).toMatch(/^\*\*One video\*\*\n/);
  });

  it('show the file of the requests', () => {
    expect(staticBatchDetails({ requestsFrom: 'in/foxes.jsonl' })).toBe(
      '**A video for each line of `in/foxes.jsonl` in the storage**\n\n- window: `20`\n- onFailure: `continue`\n- deadline: `1 h`',
    );
  });
});
