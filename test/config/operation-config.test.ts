import { readLogConfig } from '../../src/config/operation-config';

const onTerminal = { level: 'info', isTerminal: true } as const;
const inPipe = { level: 'info', isTerminal: false } as const;

test('a log is for people on a terminal and JSON in a pipe, unless it is set', () => {
  expect(readLogConfig(onTerminal, {}).format).toBe('pretty');
  expect(readLogConfig(inPipe, {}).format).toBe('json');
  expect(readLogConfig(inPipe, { VIDEOGEN_LOG_FORMAT: 'AUTO' }).format).toBe('json');
  expect(readLogConfig(onTerminal, { VIDEOGEN_LOG_FORMAT: 'json' }).format).toBe('json');
  expect(readLogConfig(inPipe, { VIDEOGEN_LOG_FORMAT: 'pretty' }).format).toBe('pretty');
});

test('its level is that of the command, unless it is set', () => {
  expect(readLogConfig(inPipe, {}).level).toBe('info');
  expect(readLogConfig(inPipe, { VIDEOGEN_LOG_LEVEL: ' Debug ' }).level).toBe('debug');
  expect(() => readLogConfig(inPipe, { VIDEOGEN_LOG_LEVEL: 'loud' })).toThrow(
    'VIDEOGEN_LOG_LEVEL is "loud": give one of trace, debug, info, warn, error.',
  );
});
