import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ModuleKind, transpileModule } from 'typescript';
import { signWebhook } from '../../src/service';
import { blocksOf, readPage, sectionOf } from '../support/docs-page';
import { WEBHOOK_SECRET } from '../support/webhook-receiver';

const [code = ''] = blocksOf(sectionOf(readPage('gateway.md'), 'A receiver'), 'ts');
const LISTEN = /^receiver[.]listen[(].*[)];$/m;

/** The receiver on the page, unchanged but for its port and for what it prints. */
function createReceiver(print: (type: string, id: string) => void): Server {
  const { outputText } = transpileModule(`${code.replace(LISTEN, '')}\nexport { receiver };`, {
    compilerOptions: { module: ModuleKind.CommonJS },
  });
  const from = (name: string) => require(name.replace(/^temporal-videogen/, '../../src'));
  const exported: { receiver?: Server } = {};
  const program = new Function('require', 'exports', 'process', 'console', outputText);
  program(from, exported, { env: { VIDEOGEN_WEBHOOK_SECRET: WEBHOOK_SECRET } }, { log: print });
  if (exported.receiver === undefined) throw new Error('the page has no receiver');
  return exported.receiver;
}

test('the receiver on the page about the gateway handles an event once and refuses a wrong signature', async () => {
  expect(code).toMatch(LISTEN);
  const handled: string[] = [];
  const server = createReceiver((type, id) => handled.push(`${type} ${id}`));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const body = JSON.stringify({ type: 'video.completed', timestamp: '2026-01-01', data: { id: 'fox-1' } });
  const headers = signWebhook('webhook_1', body, { secret: WEBHOOK_SECRET });
  const send = async (text: string) =>
    (await fetch(`http://127.0.0.1:${port}`, { method: 'POST', body: text, headers })).status;
  expect([await send(body), await send(body), await send(`${body} `)]).toEqual([204, 204, 400]);
  expect(handled).toEqual(['video.completed fox-1']);
  await new Promise((resolve) => {
    server.close(resolve);
    server.closeAllConnections();
  });
});
