import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ModuleKind, transpileModule } from 'typescript';
import { signWebhook } from '../../src/service';
import { blocksOf, readPage } from '../support/docs-page';
import { WEBHOOK_SECRET } from '../support/webhook-receiver';

type CreateReceiver = (secret: string, handle: (event: string, id: string) => void) => Server;

const [code = ''] = blocksOf(readPage('webhooks.md'), 'ts');

/** The receiver on the page, unchanged. */
function createReceiver(): CreateReceiver {
  const { outputText } = transpileModule(code, { compilerOptions: { module: ModuleKind.CommonJS } });
  const from = (name: string) => require(name.replace(/^temporal-videogen/, '../../src'));
  const exported: { createReceiver?: CreateReceiver } = {};
  new Function('require', 'exports', outputText)(from, exported);
  if (exported.createReceiver === undefined) throw new Error('the page has no createReceiver');
  return exported.createReceiver;
}

test('the receiver on the page about webhooks handles an event once and refuses a wrong signature', async () => {
  expect(code.trim().split('\n').length).toBeLessThanOrEqual(18);
  const handled: string[] = [];
  const server = createReceiver()(WEBHOOK_SECRET, (event, id) => handled.push(`${event} ${id}`));
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
