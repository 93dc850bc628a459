import { describeBatch } from '../../../src/client/prepare-start';
import type { BatchInput } from '../../../src/contract/batch';
import type { JobInput } from '../../../src/contract/job';
import { parseBatchInput, parseJobInput } from '../../../src/contract/job-input';
import { describeJob, staticJobDetails } from '../../../src/contract/summaries';
import { checkBatchInput } from '../../../workflows/batch/generate-videos';
import { checkInput } from '../../../workflows/input';
import { fc } from '../../support/properties';
import { fields, jsonValue } from '../hostile';
import type { Seen, Target } from '../target';
import { OWN_FIELDS, request } from './requests';

const TIMES = ['90s', '2h', 1_000];
const OPTIONS: Record<string, readonly unknown[]> = {
  deadline: TIMES,
  holdFor: TIMES,
  storage: ['foxes/', 'foxes/{date}/{workflowId}.{ext}'],
  polling: [{ min: '1s' }, { min: '5s', max: '1m' }, {}],
  onLostSubmit: ['hold', 'resubmit', 'fail'],
};

const PLAIN_REQUEST = { prompt: 'A red fox in the snow' };

/** JSON alone: what a workflow is given has crossed the wire. */
const overTheWire = (input: unknown): unknown => {
  const json = (() => {
    try {
      return JSON.stringify(input);
    } catch {
      return undefined;
    }
  })();
  return json === undefined ? null : JSON.parse(json);
};

/** What workflows do with an input before anything else. */
function seenByWorkflow<Input>(input: unknown, check: (input: Input) => string[]): string[] {
  try {
    return check(overTheWire(input) as Input);
  } catch (error) {
    const { type, message }: { type?: unknown; message?: unknown } = Object(error);
    if (type !== 'videogen.InvalidRequest') throw error;
    return [String(message)];
  }
}

export const jobInputs: Target<unknown> = {
  inputs: fc
    .tuple(
      fields({ ...OPTIONS, idempotencyKey: ['fox-1'] }, jsonValue),
      fc.oneof(
        { weight: 3, arbitrary: fc.record({ request }) },
        { weight: 2, arbitrary: fields({ taskId: ['task-1', ' task-1\n'] }, jsonValue) },
      ),
    )
    .map(([options, source]) => ({ ...options, ...source })),
  plain: { request: PLAIN_REQUEST, deadline: '2h' },
  inSuite: 130,
  feed(input): Seen {
    const parsed = parseJobInput(input, OWN_FIELDS);
    const fromWorkflow = seenByWorkflow(input, (given: JobInput) => {
      checkInput(given, 'fox');
      return [describeJob(given)];
    });
    if (!parsed.ok) return { texts: [parsed.problem, ...fromWorkflow], refused: true };
    return { texts: [describeJob(parsed.input), staticJobDetails(parsed.input), ...fromWorkflow] };
  },
};

export const batchInputs: Target<unknown> = {
  inputs: fc
    .tuple(
      fields({ ...OPTIONS, window: [1, 20, 500], onFailure: ['continue', 'stop'] }, jsonValue),
      fc.oneof(
        { weight: 3, arbitrary: fc.record({ requests: fc.array(request, { minLength: 1, maxLength: 3 }) }) },
        { weight: 2, arbitrary: fields({ requestsFrom: ['batches/foxes.jsonl'] }, jsonValue) },
      ),
    )
    .map(([options, source]) => ({ ...options, ...source })),
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
