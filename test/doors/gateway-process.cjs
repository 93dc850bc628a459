/** The gateway under attack, in a process of its own. Its parent sends the settings. */
const { Client, Connection } = require('@temporalio/client');
const { createVideoGateway } = require('../../dist/src/gateway');

process.once('message', async ({ address, namespace, env }) => {
  const client = new Client({ connection: await Connection.connect({ address }), namespace });
  const gateway = await createVideoGateway({ env, client, port: 0, log: () => undefined });
  process.once('disconnect', async () => {
    await gateway.close();
    await client.connection.close();
    process.exit();
  });
  process.send({ url: gateway.url });
});
