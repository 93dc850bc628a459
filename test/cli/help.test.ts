import { run } from '../../src/cli/run';
import { FakeTerminal } from './fake-terminal';
import { parser } from './parser';

async function helpOf(command: string): Promise<string> {
  const terminal = new FakeTerminal();
  expect(await run([command, '--help'], terminal)).toBe(0);
  return terminal.stdout;
}

/** The words that a shell would pass for an example. */
const wordsOf = (line: string) =>
  [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '');

test.each(parser().commands.map((command) => command.name()))(
  'the help of %s ends with an example that the program takes',
  async (command) => {
    const [, typed = ''] = /\nExample:\n {2}videogen (.*)\n$/.exec(await helpOf(command)) ?? [];
    const words = wordsOf(typed);
    expect(words[0]).toBe(command);
    await parser().parseAsync(words, { from: 'user' });
  },
);

test('every command loads its function', async () => {
  for (const command of parser().commands) {
    const args = command.registeredArguments.map(() => 'fox');
    const loaded: unknown[] = [];
    await parser(({ load }) => loaded.push(load())).parseAsync([command.name(), ...args], { from: 'user' });
    expect(loaded).toEqual([expect.any(Function)]);
  }
});
