import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { endOf, Home, lastLine, untilErr } from '../cli/cli-process';

// Several processes in sequence, each of which starts a server or a worker.
jest.setTimeout(120_000);

const home = new Home();
afterAll(() => home.remove());

const addressOf = (folder: string) => pathToFileURL(join(home.folder, folder)).href;
const videosIn = (folder: string) =>
  readdirSync(join(home.folder, folder)).filter((name) => name.endsWith('.mp4'));

test('while dev runs, a command uses its own VIDEOGEN_STORAGE, and a joined job keeps the storage it was started with', async () => {
  const dev = home.start(['dev']);
  await untilErr(dev, 'Ctrl-C ends everything');
  expect(dev.err()).toContain(`Storage        ${pathToFileURL(home.videos).href}\n`);
  const fox = ['generate', 'A red fox', '--id', 'fox', '--json'];

  const [own, unreachable, secondDev] = await Promise.all([
    home.run([...fox, '--out', 'copy.mp4'], { VIDEOGEN_STORAGE: 'mine' }),
    home.run(['generate', 'A wolf', '--id', 'wolf', '--json'], {
      VIDEOGEN_STORAGE: 's3://videos/wolves',
      AWS_ENDPOINT_URL_S3: 'http://127.0.0.1:1',
      AWS_REGION: 'us-east-1',
      AWS_ACCESS_KEY_ID: 'id',
      AWS_SECRET_ACCESS_KEY: 'secret',
    }),
    home.run(['dev'], { VIDEOGEN_STORAGE: 'mine' }),
  ]);
  const uri = `${addressOf('mine')}/fox.mp4`;
  const copiedTo = join(home.folder, 'copy.mp4');
  expect(own).toMatchObject({
    code: 0,
    err: expect.stringContaining(`It is at ${uri}, copied to ${copiedTo}.\n`),
  });
  expect(lastLine(own)).toMatchObject({ workflowId: 'fox', video: { uri }, copiedTo });
  expect(videosIn('mine')).toEqual(['fox.mp4']);
  expect(existsSync(join(home.videos, 'fox.mp4'))).toBe(false);

  const sentence =
    /^The storage s3:\/\/videos\/wolves at http:\/\/127\.0\.0\.1:1 cannot be used: connect ECONNREFUSED 127\.0\.0\.1:1\. Correct AWS_ENDPOINT_URL_S3 /m;
  expect(unreachable).toMatchObject({ code: 15, err: expect.stringMatching(sentence) });
  expect(lastLine(unreachable)).toMatchObject({ error: { type: 'StorageUnusable' } });
  expect(home.paid()).toEqual([lastLine(own).taskId]);
  expect(secondDev.err).toContain(
    `already runs everything and stores videos in ${pathToFileURL(home.videos).href};`,
  );

  // No worker uses that storage once the command has ended.
  const left = await home.run(['generate', 'A grey fox', '--id', 'left', '--storage', 'grey/', '--no-wait'], {
    VIDEOGEN_STORAGE: 'theirs',
  });
  expect(left).toMatchObject({ code: 0 });
  const [joined, followed] = await Promise.all([
    home.run([...fox, '--storage', 'foxes/']),
    home.run(['generate', '--id', 'left', '--json']),
  ]);
  expect(joined).toMatchObject({ code: 0 });
  expect(lastLine(joined).video.uri).toBe(uri);
  expect(joined.err).toContain(
    `fox was started with the storage ${addressOf('mine')} and stores its video there`,
  );
  expect(joined.err).toContain(
    'fox was started without a storage key; the --storage of this command has no effect.',
  );
  expect(followed).toMatchObject({ code: 0 });
  expect(followed.err).toContain(
    `left was started with the storage ${addressOf('theirs')} and stores its video there`,
  );
  expect(lastLine(followed).video.uri).toBe(`${addressOf('theirs')}/grey/left.mp4`);

  dev.kill('SIGINT');
  expect(await endOf(dev)).toMatchObject({ code: 0 });
  expect(home.paid()).toHaveLength(2);
  expect(home.processes()).toEqual([]);
});
