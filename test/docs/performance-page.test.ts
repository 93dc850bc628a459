import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { drawReport, pageOf, REPORT, replacePart } from '../../bench/support/page.cjs';
import { readPage } from '../support/docs-page';

const page = readPage('performance.md');
const report = JSON.parse(readFileSync(REPORT, 'utf8'));

test('the figures of the page are those of the report that `npm run bench -- --page` stored, none edited by hand', () => {
  expect(replacePart(page, pageOf(report))).toBe(page);
});

test('so is the picture', () => {
  const picture = readFileSync(join(__dirname, '../../docs/pictures/benchmarks.svg'), 'utf8');
  expect(drawReport(report)).toBe(picture);
});

test('the report names no machine, folder or registry', () => {
  expect(JSON.stringify(report)).not.toMatch(/\/(home|root|tmp|work|usr)\/|https?:|\blocalhost\b/);
});
