import { DefaultLogger, type LogLevel } from '@temporalio/worker';
import { bundleQuietly } from '../../src/worker/own-workflows';
import { VideoPlugin } from '../../src/worker/video-plugin';

test.each([
  ['by itself', bundleQuietly],
  [
    'by the plugin',
    (options: Parameters<typeof bundleQuietly>[0]) => new VideoPlugin().configureBundler(options),
  ],
])('a bundler that is quietened %s lists its modules at DEBUG, and still logs problems', (_, quieten) => {
  const lines: [LogLevel, string][] = [];
  const logger = new DefaultLogger('TRACE', ({ level, message }) => lines.push([level, message]));
  const { logger: quiet } = quieten({ workflowsPath: __filename, logger });
  quiet?.info('modules by path');
  quiet?.warn('too large');
  quiet?.error('not found');
  expect(lines).toEqual([
    ['DEBUG', 'modules by path'],
    ['WARN', 'too large'],
    ['ERROR', 'not found'],
  ]);
});
