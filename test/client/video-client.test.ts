import { Client, Connection } from '@temporalio/client';
import { createVideoClient, type VideoClient } from '../../src';
import { VideoFailure } from '../../src/failures';

/** Nobody listens there: what is refused is refused before Temporal is asked. */
const client = new Client({ connection: Connection.lazy({ address: '127.0.0.1:1', connectTimeout: 100 }) });
afterAll(() => client.connection.close());

const request = { prompt: 'A fox' };
const STARTS: [name: string, start: (videos: VideoClient, workflowId: string) => Promise<unknown>][] = [
  ['start', (videos, workflowId) => videos.start({ request }, { workflowId })],
  ['submit', (videos, workflowId) => videos.submit({ request }, { workflowId })],
  ['execute', (videos, workflowId) => videos.execute({ request }, { workflowId })],
  ['startBatch', (videos, workflowId) => videos.startBatch({ requests: [request] }, { workflowId })],
];

describe.each(STARTS)('%s', (_, start) => {
  it.each(['', ' ', 'x'.repeat(1_001), 'jobs', 'tasks/1'])(
    'refuses the workflow id %j',
    async (workflowId) => {
      const videos = await createVideoClient({ env: {}, client });
      const failure = await start(videos, workflowId).catch((error: unknown) => error);
      expect(failure).toBeInstanceOf(VideoFailure);
      expect(failure).toMatchObject({
        type: 'InvalidRequest',
        details: {
          message:
            'workflowId must be text of at most 1000 bytes, not blank and without control characters; jobs, batches, images, gateway, tasks are reserved, as names and as folders',
        },
      });
    },
  );
});
