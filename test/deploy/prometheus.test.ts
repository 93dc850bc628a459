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

  test('the alerts fire when they should, and only then, which a test with another threshold notices', async () => {
    expect(promcheck.testRules(TESTS)).toBe('');
    const folder = await mkdtemp(join(tmpdir(), 'videogen-alerts-'));
    const tests = readFileSync(TESTS, 'utf8').replace('../../deploy', relative(folder, DEPLOY));
    await writeFile(join(folder, 'alerts.yml'), tests.replace('le="600"', 'le="1000"'));
    expect(promcheck.testRules(join(folder, 'alerts.yml'))).toContain('VideogenSubmitsWait at 20m');
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
});
