import { gatewayHealth } from '../../src/gateway/health';

test('a gateway whose storage does not answer is not ready, and Temporal is not blamed', async () => {
  const client = {
    options: { namespace: 'default' },
    workflowService: { describeNamespace: async () => ({}) },
    withDeadline: (_deadline: number, work: () => Promise<unknown>) => work(),
  };
  const storage = { read: () => new Promise(() => undefined) };
  expect(await gatewayHealth({ client: client as never, storage: storage as never }, false)).toEqual([
    { part: 'temporal', status: 'ok' },
    { part: 'storage', status: 'unready', reason: 'The storage does not answer within 2 s.' },
    { part: 'gateway', status: 'ok' },
  ]);
});
