import { readDefaultServiceName, wantsTraces } from '../../src/config/trace-config';

const ENDPOINT = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' };

test.each<[string, Record<string, string>, boolean]>([
  ['nothing is set', {}, false],
  ['an endpoint is set', ENDPOINT, true],
  ['it is blank', { OTEL_EXPORTER_OTLP_ENDPOINT: ' ' }, false],
  [
    'an endpoint for traces is set',
    { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://127.0.0.1:4318/v1/traces' },
    true,
  ],
  ['an exporter is set', { OTEL_TRACES_EXPORTER: 'console' }, true],
  ['the exporter is none', { ...ENDPOINT, OTEL_TRACES_EXPORTER: 'none' }, false],
  ['the SDK is disabled', { ...ENDPOINT, OTEL_SDK_DISABLED: 'True' }, false],
  ['only a name is set', { OTEL_SERVICE_NAME: 'films' }, false],
])('when %s', (_, env, expected) => {
  expect(wantsTraces(env)).toBe(expected);
});

test('a process is called videogen unless the environment names it', () => {
  expect(readDefaultServiceName({})).toBe('videogen');
  expect(readDefaultServiceName({ OTEL_SERVICE_NAME: 'films' })).toBeUndefined();
  expect(readDefaultServiceName({ OTEL_RESOURCE_ATTRIBUTES: 'a=b,service.name=films' })).toBeUndefined();
});
