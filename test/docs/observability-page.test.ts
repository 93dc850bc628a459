import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { LOG_EVENTS } from '../../src/contract/log-events';
import { COUNTERS, HISTOGRAMS } from '../../src/contract/metrics';
import { createGatewayMetrics } from '../../src/gateway/watch-requests';
import { readPage } from '../support/docs-page';

const root = join(__dirname, '../..');

const sources = ['src', 'workflows', 'activities'].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => ({ file: join(folder, file), text: readFileSync(join(root, folder, file), 'utf8') })),
);

/** The first two columns of each row of a table of the page. */
function listed(firstColumn: string): string[][] {
  const [, rows = ''] = readPage('observability.md').split(
    new RegExp(`^\\| ${firstColumn} \\|.*\\n.*\\n`, 'm'),
  );
  const [table = ''] = rows.split('\n\n');
  return [...table.matchAll(/^\| `(\w+)` \| (\w+) \|/gm)].map(([, name = '', second = '']) => [name, second]);
}

test('the page lists every event at its level', () => {
  const rows = readPage('observability.md').matchAll(/^\| (debug|info|warn|error) \| (.+) \|$/gm);
  const shown = [...rows].flatMap(([, level, events = '']) =>
    [...events.matchAll(/(?:^|, )`(\w+)`/g)].map(([, event = '']) => [event, level]),
  );
  const written = Object.entries(LOG_EVENTS).map(([event, { level }]) => [event, level]);
  expect(shown.sort()).toEqual(written.sort());
});

test('the page lists every metric with its kind', async () => {
  const measured = [
    ...Object.keys(COUNTERS).map((name) => [name, 'counter']),
    ...Object.keys(HISTOGRAMS).map((name) => [name, 'histogram']),
    ...(await createGatewayMetrics().registry.getMetricsAsJSON()).map(({ name, type }) => [
      name,
      String(type),
    ]),
    ['videogen_ready', 'gauge'],
  ];
  expect(listed('Metric').sort()).toEqual(measured.sort());
});

test('each line of the table is written somewhere', () => {
  const code = sources.filter(({ file }) => file !== 'src/contract/log-events.ts').map(({ text }) => text);
  const unused = Object.keys(LOG_EVENTS).filter((event) => !code.some((text) => text.includes(`'${event}'`)));
  expect(unused).toEqual([]);
});

test('workflows and activities write no other lines', () => {
  const direct = sources
    .filter(({ file }) => /^(workflows|activities)/.test(file) && !file.endsWith('log-event.ts'))
    .filter(({ text }) => /\blog\.(trace|debug|info|warn|error)\(|\bconsole\./.test(text));
  expect(direct.map(({ file }) => file)).toEqual([]);
});
