import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { COUNTERS, HISTOGRAMS } from '../../src/contract/metrics';
import { createGatewayMetrics } from '../../src/gateway/watch-requests';
import { namedExpressions } from '../support/dashboard';
import { readPage } from '../support/docs-page';
import { describeAtNight } from '../support/nightly';
import { buildPromcheck, PROMCHECK_TIMEOUT_MS, type Promcheck } from '../support/promcheck';

const TESTS = join(__dirname, 'alerts.yml');
const DEPLOY = join(__dirname, '../../deploy');

test('the page about observability has every alert', () => {
  const listed = [...readPage('observability.md').matchAll(/^\| `(Videogen\w+)` \|/gm)].map(
    ([, name]) => name,
  );
  const rules = readFileSync(join(DEPLOY, 'prometheus/videogen-alerts.yml'), 'utf8');
  expect(listed).toEqual([...rules.matchAll(/- alert: (\w+)/g)].map(([, name]) => name));
});

describeAtNight("Prometheus' own linter and engine", () => {
  let promcheck: Promcheck;
  beforeAll(async () => {
    promcheck = await buildPromcheck();
  }, PROMCHECK_TIMEOUT_MS);

  test('the alerts fire when they should, and only then', () => {
    expect(promcheck.testRules(TESTS)).toBe('');
  });

  test.each([
    ['another threshold', 'le="600"', 'le="1000"', 'VideogenSubmitsWait at 20m'],
    ['an unknown alert', 'alertname: VideogenNotReady', 'alertname: VideogenNever', 'no alert VideogenNever'],
  ])('a unit test with %s fails', async (_what, from, to, problem) => {
    const folder = await mkdtemp(join(tmpdir(), 'videogen-alerts-'));
    const changed = readFileSync(TESTS, 'utf8')
      .replace('../../deploy', relative(folder, DEPLOY))
      .replace(from, to);
    await writeFile(join(folder, 'alerts.yml'), changed);
    expect(promcheck.testRules(join(folder, 'alerts.yml'))).toContain(problem);
    await rm(folder, { recursive: true });
  });

  test('the dashboard shows every metric of ours, and dashboard and alerts no other of that name', () => {
    const { dashboard, alerts } = namedExpressions();
    const base = (name: string) => name.replace(/_(bucket|sum|count)$/, '');
    const shown = new Set(promcheck.namesIn(dashboard).map(base));
    const ofGateway = createGatewayMetrics().registry.getMetricsAsArray();
    const ours = [
      ...Object.keys({ ...COUNTERS, ...HISTOGRAMS }),
      ...ofGateway.map(({ name }) => name),
      'videogen_ready',
    ];
    expect(ours.filter((name) => !shown.has(name))).toEqual([]);
    const named = [...shown, ...promcheck.namesIn(alerts).map(base)];
    const unknown = named.filter((name) => name.startsWith('videogen_') && !ours.includes(name));
    expect(unknown).toEqual([]);
  });

  test('an expression with a mistake and a metric without help are noticed', () => {
    expect(() => promcheck.namesIn(['sum by (videogen_ready'])).toThrow('parse error');
    expect(promcheck.lint('# TYPE jobs counter\njobs 1\n')).toContain('no help text');
  });
});
