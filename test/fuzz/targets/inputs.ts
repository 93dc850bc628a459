import { requestOnRecord } from '../../../activities/request-on-record';
import { describeBatch } from '../../../src/client/prepare-start';
import type { BatchInput } from '../../../src/contract/batch';
import type { JobInput } from '../../../src/contract/job';
import { parseBatchInput, parseJobInput } from '../../../src/contract/job-input';
import { ASPECT_RATIOS, RESOLUTIONS } from '../../../src/contract/request';
import { describeJob, staticJobDetails } from '../../../src/contract/summaries';
import { checkBatchInput } from '../../../workflows/batch/generate-videos';
import { checkInput } from '../../../workflows/input';
import { fc } from '../../support/properties';
import { fields, jsonValue, scriptValue, weighted } from '../hostile';
import { signedLink } from '../secrets';
import type { Seen, Target } from '../target';

const REQUEST: Record<string, readonly unknown[]> = {
  prompt: ['A red fox in the snow', 'fox'],
  image_url: ['https://example.com/fox.png'],
  resolution: RESOLUTIONS,
  aspect_ratio: ASPECT_RATIOS,
  duration: [1, 5, 10],
  seed: [0, 7, -1],
  // A field of the service's own.
  style: ['film', { grain: 3, of: ['https://example.com/look.png'] }],
};
const OWN_FIELDS = ['style'];

const value = weighted([4, scriptValue], [1, signedLink]);
/** Requests of which most are valid. Any text in them may be a signed link. */
const request = weighted<unknown>(
  [8, fields(REQUEST, value).map((given) => ({ prompt: 'fox', ...given }))],
  [1, fields(REQUEST, value)],
  [1, scriptValue],
);
const PLAIN_REQUEST = { prompt: 'A red fox in the snow', duration: 5 };

const TIMES = ['90s', '2h', 1_000];
const OPTIONS: Record<string, readonly unknown[]> = {
  deadline: TIMES,
  holdFor: TIMES,
  storage: ['foxes/', 'foxes/{date}/{workflowId}.{ext}'],
  polling: [{ min: '1s' }, { min: '5s', max: '1m' }, {}],
  onLostSubmit: ['hold', 'resubmit', 'fail'],
};

/** Options, with requests or with what stands for them. */
const inputs = (options: typeof OPTIONS, requests: fc.Arbitrary<object>, others: typeof OPTIONS) =>
  fc
    .tuple(
      fields({ ...OPTIONS, ...options }, jsonValue),
      weighted([3, requests], [1, fields(others, jsonValue)]),
    )
    .map(([given, source]) => ({ ...given, ...source }));

/** What workflows do with an input, which has crossed the wire as JSON, before anything else. */
function seenByWorkflow<Input>(input: unknown, check: (input: Input) => string[]): string[] {
  const json = (() => {
    try {
      return JSON.stringify(input) ?? 'null';
    } catch {
      return 'null';
    }
  })();
  try {
    return check(JSON.parse(json) as Input);
  } catch (error) {
    const { type, message }: { type?: unknown; message?: unknown } = Object(error);
    if (type !== 'videogen.InvalidRequest') throw error;
    return [String(message)];
  }
}

export const jobInputs: Target<unknown> = {
  inputs: inputs({ idempotencyKey: ['fox-1'] }, fc.record({ request }), { taskId: ['task-1', ' task-1\n'] }),
  plain: { request: PLAIN_REQUEST, deadline: '2h' },
  inSuite: 200,
  feed(input): Seen {
    const parsed = parseJobInput(input, OWN_FIELDS);
    const fromWorkflow = seenByWorkflow(input, (given: JobInput) => {
      checkInput(given, 'fox');
      return [describeJob(given)];
    });
    if (!parsed.ok) return { texts: [parsed.problem, ...fromWorkflow], refused: true };
    const { input: job } = parsed;
    return {
      texts: [describeJob(job), staticJobDetails(job), ...fromWorkflow],
      data: job.request ? [JSON.stringify(requestOnRecord(job.request))] : [],
    };
  },
};

export const batchInputs: Target<unknown> = {
  inputs: inputs(
    { window: [1, 20, 500], onFailure: ['continue', 'stop'] },
    fc.record({ requests: fc.array(request, { minLength: 1, maxLength: 3 }) }),
    { requestsFrom: ['batches/foxes.jsonl'] },
  ),
  plain: { requests: [PLAIN_REQUEST], window: 2 },
  inSuite: 100,
  feed(input): Seen {
    const parsed = parseBatchInput(input, OWN_FIELDS);
    const fromWorkflow = seenByWorkflow(input, (given: BatchInput) => {
      checkBatchInput(given, 'foxes');
      return [describeBatch(given)];
    });
    if (!parsed.ok) return { texts: [parsed.problem, ...fromWorkflow], refused: true };
    return { texts: [describeBatch(parsed.input), ...fromWorkflow] };
  },
};
