import { connectClient, unreachable } from '../../src/client/connect';

const KEY = 'temporal-key-0123456789';

it('quotes a connection error without the API key and without our headers', () => {
  const options = { address: 'temporal:7233', apiKey: KEY, metadata: { 'x-pass': 'open-sesame-77' } };
  const refused = new Error(`Metadata string value "Bearer ${KEY}" and "open-sesame-77" are refused`);
  const error = unreachable(options, refused);
  expect(error.message).toContain(
    'Temporal cannot be reached at temporal:7233 (Error: Metadata string value',
  );
  for (const secret of [KEY, 'open-sesame-77']) expect(error.message).not.toContain(secret);
  expect(error.cause).toBeUndefined();
});

it('shortens an endless connection error', () => {
  expect(unreachable({}, new Error('x'.repeat(1e6))).message.length).toBeLessThan(1_000);
});

it('says how to install root certificates where the core of a worker finds none', () => {
  const none = new Error('tonic::transport::Error(Transport, NativeCertsNotFound)');
  expect(unreachable({ address: 'temporal:7233' }, none).message).toMatch(/ca-certificates.*SERVER_CA_CERT/);
});

it('refuses wrong encryption keys before it connects', async () => {
  const env = { TEMPORAL_ADDRESS: '127.0.0.1:1', VIDEOGEN_ENCRYPTION_KEYS: 'no-key' };
  await expect(connectClient(env)).rejects.toThrow('VIDEOGEN_ENCRYPTION_KEYS');
});
