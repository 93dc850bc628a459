import { spawnSync } from 'node:child_process';
import { buildGoTool, GO_TOOL_TIMEOUT_MS } from './go-tool';

/** For `beforeAll`. */
export const PROMCHECK_TIMEOUT_MS = GO_TOOL_TIMEOUT_MS;

/** Prometheus' own linter, parser and engine, without the rest of promtool: see prometheus/main.go. */
export interface Promcheck {
  /** What is wrong with a metrics text; empty when nothing is. */
  lint(text: string): string;
  /** What is wrong with the alerts of a file of unit tests; empty when they pass. */
  testRules(file: string): string;
  /** The names of the metrics in some expressions. */
  namesIn(expressions: readonly string[]): string[];
}

export async function buildPromcheck(): Promise<Promcheck> {
  const executable = await buildGoTool({
    recipe: 'prometheus',
    module: 'github.com/prometheus/prometheus',
    program: 'promcheck',
    source: 'main.go',
  });
  const run = (args: string[], input = '') => {
    const { status, stdout, stderr } = spawnSync(executable, args, { input, encoding: 'utf8' });
    return { isGood: status === 0, stdout, stderr };
  };
  return {
    lint: (text) => run(['metrics'], text).stderr,
    testRules: (file) => run(['rules', file]).stderr,
    namesIn: (expressions) => {
      const { isGood, stdout, stderr } = run(['names'], JSON.stringify(expressions));
      if (!isGood) throw new Error(stderr);
      return stdout.trim().split('\n');
    },
  };
}
