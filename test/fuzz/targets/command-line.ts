import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '../../../src/cli/run';
import { EXIT } from '../../../src/cli/terminal';
import { TemporalUnreachable } from '../../../src/client/refusals';
import { FakeTerminal } from '../../cli/fake-terminal';
import { fc } from '../../support/properties';
import { anyText, edited } from '../hostile';
import type { Target } from '../target';

/** Where each command would connect, or start something. */
const nothingIsConnected = async () => {
  throw new TemporalUnreachable('nothing is connected here');
};
jest.mock('../../../src/cli/local-stack', () => ({ openLocalStack: nothingIsConnected }));
jest.mock('../../../src/cli/open-log', () => ({ openLog: () => undefined }));
jest.mock('../../../src/cli/doctor/checks', () => ({ CHECKS: {} }));
jest.mock('../../../src/cli/find-temporal', () => ({
  findTemporal: nothingIsConnected,
  findNamedServer: nothingIsConnected,
}));
jest.mock('../../../src/worker/video-worker', () => ({
  WORKER_ROLES: ['jobs', 'submits', 'downloads'],
  createVideoWorker: nothingIsConnected,
}));
jest.mock('../../../src/testing/emulator', () => ({
  ...jest.requireActual<object>('../../../src/testing/emulator'),
  startEmulator: nothingIsConnected,
}));

const TIMES = ['5s', '90s', '2h'];
const JOB = {
  '--deadline': TIMES,
  '--hold-for': TIMES,
  '--on-lost-submit': ['hold', 'resubmit', 'fail'],
  '--storage': ['foxes/', 'foxes/{date}/{workflowId}.{ext}'],
  '--id': ['fox', 'fox 1'],
  '--no-wait': [],
  '--json': [],
};
const FAULTS = ['submit:reset', 'status:server-errorx3', 'download:cut', 'retrieve:late'];

/** The commands, with values for their options and arguments. No values: a flag. */
const COMMANDS: Record<string, { options: Record<string, readonly string[]>; args: readonly string[] }> = {
  generate: {
    args: ['A red fox in the snow'],
    options: {
      ...JOB,
      '--image-url': ['https://example.com/fox.png'],
      '--image': ['fox.png'],
      '--resolution': ['720p'],
      '--aspect-ratio': ['16:9'],
      '--duration': ['5'],
      '--seed': ['7'],
      '--field': ['style=film', 'size={"w":640}'],
      '--out': ['fox.mp4'],
      '--adopt': ['task-1'],
    },
  },
  batch: {
    args: ['foxes.jsonl', 'bad.jsonl', 'no-such.jsonl'],
    options: { ...JOB, '--window': ['20'], '--on-failure': ['stop'] },
  },
  decide: {
    args: ['fox'],
    options: { '--item': ['17'], '--adopt': ['task-1'], '--resubmit': [], '--abandon': [], '--json': [] },
  },
  dev: { args: [], options: { '--port': ['7233'], '--ui-port': ['8233'], '--fault': FAULTS } },
  worker: { args: [], options: { '--record': ['recordings'], '--only': ['jobs', 'downloads'] } },
  emulator: {
    args: [],
    options: {
      '--host': ['127.0.0.1'],
      '--port': ['8080'],
      '--job-time': TIMES,
      '--fault': FAULTS,
    },
  },
  doctor: { args: [], options: { '--json': [] } },
  explain: {
    args: ['answer.json', '.', 'no-such.json'],
    options: { '--status': ['200', '404'], '--json': [] },
  },
  '--help': { args: [], options: {} },
};

const FILES: Record<string, string> = {
  'foxes.jsonl': '{"prompt":"A red fox in the snow"}\n',
  'bad.jsonl': '{"prompt":""}\n{"promt":"x"}\n[\n',
  'answer.json': '{"task_id":"t-1","status":"busy"}',
};

/** A value that is right, nearly right, or anything. */
function near(values: readonly string[]): fc.Arbitrary<string> {
  return fc.oneof(
    { weight: 5, arbitrary: fc.constantFrom(...values) },
    { weight: 2, arbitrary: fc.constantFrom(...values).chain(edited) },
    // Counts and sizes that no one means.
    {
      weight: 1,
      arbitrary: fc
        .constantFrom(...values)
        .chain((value) => fc.constantFrom('x99999999999', '999999999', '1e9').map((more) => value + more)),
    },
    { weight: 1, arbitrary: anyText },
  );
}

const commandLine = fc.constantFrom(...Object.entries(COMMANDS)).chain(([name, { args, options }]) => {
  const option = fc
    .constantFrom(...Object.entries(options), ['--no-such', ['x']] as const)
    .chain(([flag, values]) =>
      fc.tuple(
        fc.oneof(
          { weight: 12, arbitrary: fc.constant<string>(flag) },
          { weight: 1, arbitrary: edited(flag) },
        ),
        values.length === 0 ? fc.constant([]) : fc.array(near(values), { minLength: 1, maxLength: 2 }),
      ),
    );
  const command = fc.oneof(
    { weight: 15, arbitrary: fc.constant(name) },
    { weight: 1, arbitrary: edited(name) },
  );
  const arguments_ = fc.array(near(args.length === 0 ? ['x'] : args), {
    maxLength: args.length === 0 ? 0 : 2,
  });
  return (
    fc
      .tuple(command, arguments_, fc.array(option, { maxLength: 4 }))
      // No argument can contain NUL.
      .map((parts) => parts.flat(3).map((part) => part.replaceAll('\0', '')))
  );
});

export const commandLines: Target<string[]> = {
  inputs: commandLine,
  plain: ['generate', 'A red fox in the snow', '--json'],
  inSuite: 80,
  async feed(args, folder) {
    for (const [name, content] of Object.entries(FILES)) writeFileSync(join(folder, name), content);
    const terminal = new FakeTerminal({
      VIDEOGEN_STORAGE: join(folder, 'videos'),
      VIDEOGEN_DATA: join(folder, 'data'),
    });
    const inFolder = args.map((arg) => (arg in FILES ? join(folder, arg) : arg));
    const code = await run(inFolder, terminal);
    const isCrash = code === EXIT.unexpected || !Number.isInteger(code);
    return {
      texts: [terminal.stdout, terminal.stderr],
      refused: code === EXIT.usage,
      problems: isCrash ? [`exit code ${code}: ${terminal.stderr.slice(0, 1_000)}`] : [],
    };
  },
};
