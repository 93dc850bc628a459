import { execFileSync } from 'node:child_process';
import { completionScript, SHELLS } from '../../src/cli/completion';
import { OVERVIEW_STATES } from '../../src/client/overview';
import { parser } from './parser';

/** What bash proposes for the last of these words, one list for each line. */
function inBash(lines: string[][]): string[][] {
  const asked = lines.map((words) => {
    const list = words.map((word) => `'${word}'`).join(' ');
    return `COMP_WORDS=(${list}); COMP_CWORD=${words.length - 1}; _videogen; echo "\${COMPREPLY[*]}"`;
  });
  const script = [completionScript(parser(), 'bash'), ...asked].join('\n');
  const out = execFileSync('bash', ['--norc', '-c', script], { encoding: 'utf8' });
  return out
    .split('\n')
    .slice(0, -1)
    .map((line) => line.split(' ').filter(Boolean));
}

test('bash completes commands, options, values and shells', () => {
  expect(
    inBash([
      ['videogen', 'wo'],
      ['videogen', 'list', '--st'],
      ['videogen', 'list', '--state', ''],
      ['videogen', 'list', '--failure', 'Gen'],
      ['videogen', 'download', '--out', ''],
      ['videogen', 'completion', ''],
      ['videogen', 'status', '--'],
      ['videogen', 'nothing', '--x'],
    ]),
  ).toEqual([
    ['worker'],
    ['--state'],
    [...OVERVIEW_STATES],
    ['GenerationFailed', 'GenerationCancelled'],
    // Files are bash's own.
    [],
    [...SHELLS, '--help'],
    ['--json', '--help'],
    [],
  ]);
});

test.each(SHELLS)('the script for %s has every command and every option', (shell) => {
  const script = completionScript(parser(), shell);
  for (const command of parser().commands) {
    expect(script).toContain(command.name());
    for (const { long } of command.options) {
      expect(script).toContain(shell === 'fish' ? `-l ${long?.slice(2)}` : long);
    }
  }
});
