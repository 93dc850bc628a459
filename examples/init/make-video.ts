import { Client, Connection } from '@temporalio/client';
import { loadClientConnectConfig } from '@temporalio/envconfig';

/** Starts the workflow and waits for its video. The same workflow id again is the same poster. */
async function main() {
  const { connectionOptions, namespace } = loadClientConnectConfig();
  const connection = await Connection.connect(connectionOptions);
  const client = new Client({ connection, ...(namespace && { namespace }) });
  const poster = await client.workflow.execute('makePoster', {
    taskQueue: 'posters',
    workflowId: 'poster-1',
    args: ['A red fox in the snow'],
  });
  console.log(poster);
  await connection.close();
}

void main();
