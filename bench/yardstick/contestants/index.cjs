/**
 * What is compared. `dialect` is the protocol that the emulator speaks to it (by default our own), `packages` are those whose
 * versions the table names, `needs` what it needs besides Node.
 */
const { readFileSync } = require('node:fs');
const { join } = require('node:path');

const row = (name, title, more) => ({ name, title, program: join(__dirname, `${name}.cjs`), ...more });

const requirements = readFileSync(join(__dirname, '../requirements.txt'), 'utf8');
const [, litellm] = /^litellm==(.+)$/m.exec(requirements);

exports.CONTESTANTS = [
  row('fal', '`@fal-ai/client`', { packages: ['@fal-ai/client'], dialect: 'fal' }),
  row('replicate', '`replicate`', { packages: ['replicate'], dialect: 'replicate' }),
  row('runway', '`@runwayml/sdk`', { packages: ['@runwayml/sdk'], dialect: 'runway' }),
  row('ai-sdk', '`ai`, `@ai-sdk/fal`', { packages: ['ai', '@ai-sdk/fal'], dialect: 'ai-sdk-fal' }),
  row('litellm', 'LiteLLM', { versions: [litellm], dialect: 'openai', needs: ['python'] }),
  row('bullmq', 'BullMQ', { packages: ['bullmq'], needs: ['redis'] }),
  row('temporal', 'A plain Temporal workflow', { packages: ['@temporalio/worker'], needs: ['temporal'] }),
  row('ours', 'Our client', { needs: ['temporal'] }),
  row('gateway', 'Our gateway, `openai`', { packages: ['openai'], needs: ['temporal'] }),
];

exports.NOT_RUN = [
  {
    title: '`@ai-sdk/workflow`',
    why: 'it needs Node 22 and a service that calls webhooks, which the emulator does not.',
  },
];
