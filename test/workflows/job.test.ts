import {
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  CancelledFailure,
} from '@temporalio/workflow';
import { describeBatch } from '../../src/client/prepare-start';
import type { BatchProgress } from '../../src/contract/batch';
import { FAILURES } from '../../src/contract/failure-table';
import { decisionProblem } from '../../src/contract/input-rules';
import type { JobProgress } from '../../src/contract/job';
import { describeJob, describeRequest, staticJobDetails } from '../../src/contract/summaries';
import { Job } from '../../workflows/job';
import { pollUntilReady } from '../../workflows/poll';
import { batchDetails, currentDetails } from '../../workflows/ui-details';
import { hostileText, STEERING } from '../support/hostile-text';
import { fc } from '../support/properties';
import { signedLinks } from '../support/signed-links';

const READY = { state: 'succeeded', word: 'done', hasVideo: true, nextPollMs: 0 };
const mockPolls = { local: jest.fn(), regular: jest.fn() };
jest.mock('@temporalio/workflow', () => ({
  ...jest.requireActual('@temporalio/workflow'),
  workflowInfo: () => ({
    workflowId: 'fox',
    historyLength: 10,
    typedSearchAttributes: { get: () => undefined },
  }),
  condition: async () => true,
  setCurrentDetails: () => undefined,
  upsertMemo: () => undefined,
  log: { info: () => undefined, warn: () => undefined },
  metricMeter: { createHistogram: () => ({ record: () => undefined }) },
  proxyLocalActivities: () => ({ pollVideo: mockPolls.local }),
  proxyActivities: () => ({ pollVideo: mockPolls.regular }),
}));

/** As the SDK delivers how a local activity ended. */
const ended = (cause: Error) =>
  new ActivityFailure('Activity task failed', 'pollVideo', '1', 'IN_PROGRESS', 'worker', cause);
const GIVEN_UP = ended(new CancelledFailure('Local Activity cancelled'));

async function pollAfter(local: Error, isCancelled = false): Promise<void> {
  jest
    .spyOn(CancellationScope, 'current')
    .mockReturnValue(
      Object.create(CancellationScope.prototype, { consideredCancelled: { value: isCancelled } }),
    );
  mockPolls.local = jest.fn(async () => READY).mockRejectedValueOnce(local);
  mockPolls.regular = jest.fn(async () => READY);
  const job = new Job({ request: { prompt: 'A red fox' } });
  job.known.taskId = 'task-1';
  await pollUntilReady(job);
}
afterEach(() => jest.restoreAllMocks());

test.each([
  ['that a worker gave up, which does not cancel the job', GIVEN_UP],
  [
    'by a worker that does not reach the service, or lacks it',
    ended(ApplicationFailure.create({ type: 'videogen.ServiceUnreachable' })),
  ],
  ['that failed in a way of its own', ended(ApplicationFailure.create({ type: 'Error' }))],
])('a local poll %s is made again by any worker', async (_what, failure) => {
  await pollAfter(failure);
  expect(mockPolls.regular).toHaveBeenCalledTimes(1);
});

test('an answer that fails a local poll counts, and the next poll is local again', async () => {
  await pollAfter(ended(ApplicationFailure.nonRetryable('no', 'videogen.Unauthorized')));
  expect(mockPolls.local).toHaveBeenCalledTimes(2);
  expect(mockPolls.regular).not.toHaveBeenCalled();
});

test('a local poll of a cancelled job ends the job', async () => {
  await expect(pollAfter(GIVEN_UP, true)).rejects.toBe(GIVEN_UP);
  expect(mockPolls.regular).not.toHaveBeenCalled();
});

describe('the line that describes a request', () => {
  it.each([
    [
      { prompt: 'A red fox', resolution: '720p', aspect_ratio: '16:9', duration: 5, seed: 7 },
      'text to video, 720p 16:9 5 s: "A red fox"',
    ],
    [
      { prompt: 'It runs', image_url: 'https://example.com/fox.png?token=secret', aspect_ratio: '1:1' },
      'image to video, 1:1: "It runs"',
    ],
    [{ prompt: 'x'.repeat(81) }, `text to video: "${'x'.repeat(79)}…"`],
    [{ prompt: `x${'🦊'.repeat(60)}` }, `text to video: "x${'🦊'.repeat(39)}…"`],
    // As a workflow is given it, before it is parsed.
    [{}, 'text to video: ""'],
    [
      { prompt: { toString: 5 }, duration: { valueOf: 1 }, resolution: [{ toString: null }] },
      'text to video: ""',
    ],
  ])('of %p is %p', (request, line) => {
    expect(describeRequest(request)).toBe(line);
  });

  it('fits into a Temporal summary in any script, and stays short when a field is not', () => {
    const request = { resolution: '1080p', aspect_ratio: '21:9', duration: 10, image_url: 'https://x' };
    for (const letter of ['x', 'ж', '狐', '🦊'])
      expect(Buffer.byteLength(describeRequest({ ...request, prompt: letter.repeat(1_000) }))).toBeLessThan(
        400,
      );
    const long = { prompt: 'x', resolution: 'y'.repeat(1e6), aspect_ratio: 'z'.repeat(1e6) };
    expect(describeRequest(long).length).toBeLessThan(60);
  });

  it('has no secret of a link, even where it is cut', () => {
    const secret = 'a1B2c3D4e5F6g7H8i9J0';
    for (const link of signedLinks(secret)) {
      const request = { prompt: `As in ${link.trim()} so` };
      for (const summary of [describeRequest(request), describeBatch({ requests: [request] })])
        expect(summary).not.toContain(secret.slice(0, 8));
    }
    const prompt = `${'x'.repeat(50)} https://example.com/${secret}/fox.png`;
    expect(describeRequest({ prompt })).not.toContain(secret.slice(0, 6));
  });
});

test('a job is described by its request or its task, and a batch by its first request or its file', () => {
  expect(describeJob({ request: { prompt: 'A red fox' } })).toBe('text to video: "A red fox"');
  expect(describeJob({ taskId: 'task_1\n' })).toBe('adopt task task_1');
  expect(describeBatch({ requests: [{ prompt: 'A red fox' }, { prompt: 'An owl' }] })).toBe(
    'batch of 2, the first: "A red fox"',
  );
  expect(describeBatch({ requestsFrom: 'batches/foxes.jsonl' })).toBe('batch of batches/foxes.jsonl');
});

describe('the details of a job', () => {
  it('show its whole prompt and the other fields of its request, or the task that it adopts', () => {
    const prompt = `A red fox ${'runs '.repeat(60)}in the snow`;
    expect(
      staticJobDetails({ request: { prompt, resolution: '720p', duration: 5, seed: 7 }, deadline: '90m' }),
    ).toBe(`> ${prompt}\n\n- resolution: \`720p\`\n- duration: \`5\`\n- seed: \`7\``);
    expect(staticJobDetails({ taskId: 'task_`1`' })).toBe('Adopts task task\\_\\`1\\`');
  });

  it.each([
    ['https://cdn.example.com/fox.png?X-Amz-Signature=secret', '`https://cdn.example.com/fox.png?…`'],
    ['https://me:secret@example.com/fox.png', '`https://…@example.com/fox.png`'],
    ['data:image/png;base64,c2VjcmV0', '`data:…`'],
  ])('show the image %s without secrets and without its bytes', (image_url, redacted) => {
    const details = staticJobDetails({ request: { prompt: `like ${image_url}`, image_url } });
    expect(details).toContain(`- image\\_url: ${redacted}`);
    expect(details).not.toMatch(/secret|c2VjcmV0/);
  });

  it('show a prompt with markdown as plain text', () => {
    const prompt = 'A ![fox](https://example.com/track.png) <b>in</b> `snow` \n# and | _more_ \u001b[31m';
    expect(staticJobDetails({ request: { prompt } })).toContain(
      '> A \\!\\[fox\\](https://example.com/track.png) \\<b\\>in\\</b\\> \\`snow\\` \\# and \\| \\_more\\_\n',
    );
  });

  it('fit into what Temporal accepts, of whatever letters they are', () => {
    for (const letter of ['x', '狐', '🦊', '#', '"', '\\']) {
      const long = letter.repeat(10_000);
      const fields = Array.from({ length: 100 }, (_, index) => [`${index}${letter.repeat(50)}`, long]);
      const details = staticJobDetails({ request: { prompt: long, ...Object.fromEntries(fields) } });
      expect(Buffer.byteLength(JSON.stringify(details))).toBeLessThan(20_000);
      expect(details.length).toBeLessThanOrEqual(6_000);
      expect(details).toMatch(/^> .+…\n\n/);
    }
  });
});

const hold = { since: '2026-01-01T00:00:01.000Z', until: '2026-01-02T00:00:01.000Z' };
const begun = {
  phase: 'submitting',
  polls: 0,
  startedAt: '2026-01-01T00:00:00.000Z',
  deadlineAt: '2026-01-01T01:00:00.000Z',
} as const;

test('the details of a job have a line for each thing that is known, and none for the rest', () => {
  const deadline = 'Deadline 2026-01-01T01:00:00.000Z, in 0 ms';
  expect(currentDetails(begun, undefined, 'fox').split('\n\n')).toEqual([
    '**Submitting the request to the video service**',
    deadline,
  ]);
  const nextPollAt = '2026-01-01T00:30:00.000Z';
  expect(currentDetails({ ...begun, phase: 'waiting', nextPollAt }, undefined, 'fox').split('\n\n')).toEqual([
    '**Waiting for the video**',
    'Next poll at 2026-01-01T00:30:00.000Z',
    deadline,
  ]);
});

test('the details of a job with a lost submit say how to decide it in the Temporal UI, with valid inputs', () => {
  const lost = { ...begun, phase: 'needs-decision', hold: { ...hold, message: 'It was lost.' } } as const;
  const details = currentDetails(lost, undefined, 'fox');
  // test/real-server/shown-in-temporal.test.ts finds the buttons in the UI itself.
  expect(details).toContain(
    'Or here in the Temporal UI: More Actions, Send an Update, select `decideSubmit` and enter',
  );
  const entered = [...details.matchAll(/`(\{.*?\})`/g)].map(([, json = '']) => JSON.parse(json));
  expect(entered.map(({ decision }) => decision)).toEqual(['adopt', 'resubmit', 'abandon']);
  for (const decision of entered) expect(decisionProblem(decision)).toBeUndefined();
  expect(FAILURES.SubmitUnconfirmed.advice).toContain(
    'in the Temporal UI: More Actions, Send an Update, decideSubmit.',
  );
});

describe('the details of a batch', () => {
  const items = (count: number, isHeld = false) =>
    Array.from({ length: count }, (_, index) => ({ item: index + 1, name: `foxes-${index + 1}`, isHeld }));
  const details = (more: Partial<BatchProgress>) =>
    batchDetails({ items: 40, succeeded: 0, failed: 0, running: [], ...more }).split('\n\n');

  it('count stored, failed and running items, and say why no more are started', () => {
    expect(details({ succeeded: 12, failed: 1, running: items(3), stopping: 'item 3 failed' })).toEqual([
      '**12 of 40 videos are stored**',
      '1 failed, 3 running: each is a child workflow of this one',
      'No more items are started: item 3 failed',
    ]);
    expect(details({ items: undefined })[0]).toBe('**0 of ? videos are stored**');
  });

  it('name the items that wait for a decision, and say how to decide', () => {
    const held = { item: 30, name: 'foxes-30', isHeld: true };
    const [, , decide] = details({ running: [...items(29), held] });
    expect(decide).toMatch(/^1 need a decision: `foxes-30`\. The submit got no answer/);
    expect(decide).toContain('`videogen decide foxes-30 --adopt TASK_ID`');
    expect(details({ running: items(29) }).join()).not.toContain('decide');
  });

  it.each([
    [20, '`foxes-20`. '],
    [21, '`foxes-20` and 1 more. '],
  ])('name twenty of %d items that wait, and count the others', (count, end) => {
    const [, , decide = ''] = details({ running: items(count, true) });
    expect(decide.match(/`foxes-\d+`/g)).toHaveLength(20);
    expect(decide).toContain(end);
  });
});

/** A code span with any number of backticks, or an escaped character. */
const INERT = /(?<!`)(`+)(?!`).+?(?<!`)\1(?!`)|\\./gsu;

test('details for the Temporal UI escape all names and messages of others', () => {
  fc.assert(
    fc.property(hostileText, hostileText, (name, word) => {
      const progress: JobProgress = {
        ...begun,
        phase: 'needs-decision',
        polls: 1,
        taskId: name,
        task: { state: 'running', word },
        problem: { type: 'RateLimited', message: word, count: 1 },
        hold: { ...hold, message: word },
      };
      const running = [{ item: 1, name, isHeld: true }];
      const counts = { items: 5, succeeded: 0, failed: 0, running, stopping: word };
      for (const details of [currentDetails(progress, undefined, name), batchDetails(counts)]) {
        expect(details).not.toMatch(STEERING);
        // Only our headline has Markdown.
        const rest = details.replace(/^\*\*[^*]+\*\*/, '').replace(INERT, '');
        expect(rest).not.toMatch(/[`[\]<>!_*]/);
      }
    }),
  );
});
