import { DefaultLogger, type LogLevel } from '@temporalio/worker';
import { VideoPlugin } from '../../src/plugin/video-plugin';
import { bundleQuietly } from '../../src/worker/quiet-bundler';

test.each([
  ['by itself', bundleQuietly],
  [
    'by the plugin',
    (options: Parameters<typeof bundleQuietly>[0]) => new VideoPlugin().configureBundler(options),
  ],
])(
  'a bundler that is quietened %s lists its modules for whoever debugs, and tells what is wrong',
  (_, quieten) => {
    const told: [LogLevel, string][] = [];
    const logger = new DefaultLogger('TRACE', ({ level, message }) => told.push([level, message]));
    const { logger: quiet } = quieten({ workflowsPath: __filename, logger });
    quiet?.info('modules by path');
    quiet?.warn('too large');
    quiet?.error('not found');
    expect(told).toEqual([
      ['DEBUG', 'modules by path'],
      ['WARN', 'too large'],
      ['ERROR', 'not found'],
    ]);
  },
);
