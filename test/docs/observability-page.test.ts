import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { LOG_EVENTS } from '../../src/contract/log-events';

const root = join(__dirname, '../..');

const sources = ['src', 'workflows', 'activities'].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => ({ file: join(folder, file), text: readFileSync(join(root, folder, file), 'utf8') })),
);

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
