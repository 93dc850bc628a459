import { trace } from '@opentelemetry/api';
import { FakeTerminal } from '../cli/fake-terminal';

const notInstalled = () => {
  throw Object.assign(new Error('Cannot find module'), { code: 'MODULE_NOT_FOUND' });
};

const ENDPOINT = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' };

afterEach(() => jest.resetModules());

/** The code of a command that runs while traces are exported, and what it printed. */
async function run(env: Record<string, string>) {
  const terminal = new FakeTerminal(env);
  const { whileExporting }: typeof import('../../src/cli/run') = require('../../src/cli/run');
  const code = await whileExporting(terminal, async () => 7);
  return { code, stderr: terminal.stderr };
}

test.each(['@opentelemetry/api', '@opentelemetry/sdk-node', '@temporalio/interceptors-opentelemetry'])(
  'without %s a command that is asked for traces runs, and says once what to install',
  async (name) => {
    jest.doMock(name, notInstalled);
    const { code, stderr } = await run(ENDPOINT);
    jest.dontMock(name);
    expect(code).toBe(7);
    expect(stderr).toBe(
      'There are no traces, although an OTEL_… variable asks for them: run npm install @opentelemetry/api @opentelemetry/sdk-node @temporalio/interceptors-opentelemetry, or set OTEL_SDK_DISABLED=true.\n',
    );
  },
);

test('a command runs on with an SDK of OpenTelemetry that cannot be started, and says why there are no traces', async () => {
  jest.doMock('@opentelemetry/sdk-node', () => ({}));
  expect(await run(ENDPOINT)).toEqual({
    code: 7,
    stderr: 'Traces are not exported: TypeError: sdk.NodeSDK is not a constructor\n',
  });
  jest.dontMock('@opentelemetry/sdk-node');
});

test.each([
  ['no variable is set', {}],
  ['it is blank', { OTEL_EXPORTER_OTLP_ENDPOINT: ' ' }],
  ['the exporter is none', { ...ENDPOINT, OTEL_TRACES_EXPORTER: 'none' }],
  ['the SDK is disabled', { ...ENDPOINT, OTEL_SDK_DISABLED: 'True' }],
  ['only a name is set', { OTEL_SERVICE_NAME: 'films' }],
])('a command is not asked for traces, and installs nothing, if %s', async (_, env) => {
  jest.doMock('@opentelemetry/api', notInstalled);
  expect(await run(env)).toEqual({ code: 7, stderr: '' });
  jest.dontMock('@opentelemetry/api');
  expect(trace.getTracer('x').startSpan('x').isRecording()).toBe(false);
});
