import { unreachable } from '../../src/client/connect';

const KEY = 'temporal-key-0123456789';

it("repeats neither the API key nor a header of ours in the connection's words", () => {
  const options = { address: 'temporal:7233', apiKey: KEY, metadata: { 'x-pass': 'open-sesame-77' } };
  const said = new Error(`Metadata string value "Bearer ${KEY}" and "open-sesame-77" are refused`);
  const error = unreachable(options, said);
  expect(error.message).toContain(
    'Temporal cannot be reached at temporal:7233 (Error: Metadata string value',
  );
  for (const secret of [KEY, 'open-sesame-77']) expect(error.message).not.toContain(secret);
  expect(error.cause).toBeUndefined();
});

it('repeats no endless words of a connection', () => {
  expect(unreachable({}, new Error('x'.repeat(1e6))).message.length).toBeLessThan(1_000);
});
