import { Home, untilErr } from '../cli/cli-process';
import { commandsOf, expectShown, readPage, sectionOf } from '../support/docs-page';

// Several processes, each of which loads Temporal's SDK.
jest.setTimeout(120_000);

const home = new Home();
afterAll(() => home.remove());

const wordsOf = (command: string) =>
  [...command.replace(/^npx videogen /, '').matchAll(/"([^"]*)"|(\S+)/g)].map(
    ([, quoted, word]) => quoted ?? word ?? '',
  );

test('the page about lost submits shows how to try one', async () => {
  const [lose, submit, adopt, ...others] = commandsOf(sectionOf(readPage('lost-submits.md'), 'Try it'));
  if (!lose || !submit || !adopt || others.length > 0) throw new Error('the page shows other commands');
  const dev = home.start(wordsOf(lose.command));
  await untilErr(dev, 'Ctrl-C ends everything');
  const again = await home.run(wordsOf(lose.command));
  expect(again).toMatchObject({
    code: 2,
    err: expect.stringMatching(
      /^--fault is only for an emulator that this command starts: end process \d+ /m,
    ),
  });

  const held = home.start(wordsOf(submit.command));
  await untilErr(held, /^ {2}videogen decide fox --abandon/m);
  expectShown(submit, held.err());
  await untilErr(dev, /: no answer, created task_/);
  expectShown(lose, dev.err());
  const [, taskId = ''] = /created (task_\S+)/.exec(dev.err()) ?? [];
  expect(home.paid()).toEqual([taskId]);

  const adopted = await home.run(wordsOf(adopt.command.replace('TASK_ID', taskId)));
  expectShown(adopt, adopted.err);
  expect(await held.ended).toBe(0);
  expect(home.paid()).toEqual([taskId]);
  dev.kill('SIGINT');
  expect(await dev.ended).toBe(0);
});
