import { Client, Connection } from '@temporalio/client';
import { prepareJob } from '../../src/client/prepare-start';
import { startOrJoin } from '../../src/client/start-or-join';

test("a caller's reuse policy cannot start a second job under a name that is taken", async () => {
  const job = prepareJob(
    { request: { prompt: 'A red fox' } },
    { workflowId: 'fox', temporal: { workflowIdReusePolicy: 'ALLOW_DUPLICATE' } },
  );
  const client = new Client({ connection: Connection.lazy() });
  const outcome = await startOrJoin(client, job, async (options) => options);
  expect(outcome).toMatchObject({ started: { workflowIdReusePolicy: 'REJECT_DUPLICATE' } });
});
