/**
 * What is compared. `dialect` is the protocol that the emulator speaks to it (by default our own), `packages` are those whose
 * versions the table names, `needs` the servers that outlive a killed program, as a database does.
 */
const { join } = require('node:path');

const row = (name, title, more) => ({ name, title, program: join(__dirname, `${name}.cjs`), ...more });

exports.CONTESTANTS = [
  row('fal', '`@fal-ai/client`', { packages: ['@fal-ai/client'], dialect: 'fal' }),
  row('replicate', '`replicate`', { packages: ['replicate'], dialect: 'replicate' }),
  row('runway', '`@runwayml/sdk`', { packages: ['@runwayml/sdk'], dialect: 'runway' }),
  row('ai-sdk', '`ai` with `@ai-sdk/fal`', { packages: ['ai', '@ai-sdk/fal'], dialect: 'ai-sdk-fal' }),
  row('bullmq', 'BullMQ on Redis', { packages: ['bullmq'], needs: ['redis'] }),
  row('temporal', 'a plain Temporal workflow', { packages: ['@temporalio/worker'], needs: ['temporal'] }),
  row('ours', 'our client', { needs: ['temporal'] }),
  row('gateway', "our gateway, OpenAI's client", { packages: ['openai'], needs: ['temporal'] }),
];
