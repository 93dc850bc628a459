import { setImmediate as turn } from 'node:timers/promises';
import { openLocalStack } from '../../src/cli/local-stack';
import { withJobs } from '../../src/cli/open-jobs';
import { EXIT } from '../../src/cli/terminal';
import { FakeTerminal } from './fake-terminal';

jest.mock('../../src/cli/local-stack');
jest.mock('../../src/client/video-client', () => ({ createVideoClient: async () => ({}) }));

/** Runs a command while another process runs Temporal, which ends during each run. Returns how often it ran. */
async function runs(codes: number[]) {
  const terminal = new FakeTerminal();
  const client = { withAbortSignal: (_signal: unknown, work: () => unknown) => work() };
  let end = () => {};
  jest.mocked(openLocalStack).mockImplementation(async () => {
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    return { client, note: {}, taskQueue: 'q', ended, close: async () => undefined } as never;
  });
  const run = jest.fn(async () => {
    end();
    await turn();
    return codes.shift() ?? EXIT.ok;
  });
  const code = await withJobs(terminal, { withWorker: true, run });
  return { code, times: run.mock.calls.length, err: terminal.stderr };
}

test('a command that has printed its result is not run again when the process that ran Temporal ends', async () => {
  expect(await runs([EXIT.ok])).toEqual({ code: EXIT.ok, times: 1, err: '' });
  expect(await runs([EXIT.someFailed])).toMatchObject({ code: EXIT.someFailed, times: 1 });
});

test('a command that was stopped by the end of the process that ran Temporal goes on', async () => {
  expect(await runs([EXIT.interrupted, EXIT.ok])).toEqual({
    code: EXIT.ok,
    times: 2,
    err: 'The process that ran Temporal has ended. Continuing without it.\n',
  });
});
