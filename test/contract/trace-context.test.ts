import { defaultPayloadConverter } from '@temporalio/common';
import {
  formatTraceparent,
  ownTrace,
  parseTraceparent,
  TRACE_HEADER,
} from '../../src/contract/trace-context';
import { readTraceHeader, writeTraceHeader } from '../../src/contract/trace-header';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const SPAN = 'b7ad6b7169203331';
const PARENT = `00-${TRACE}-${SPAN}-01`;
const SPAN_OF_PARENT = { traceId: TRACE, spanId: SPAN, traceFlags: 1 };

describe('a traceparent', () => {
  it.each([
    ['00', 0],
    ['01', 1],
    ['02', 0],
    ['ff', 1],
  ])('with the flags %s names a span that is sampled or not: %d', (flags, traceFlags) => {
    expect(parseTraceparent(`00-${TRACE}-${SPAN}-${flags}`)).toEqual({ ...SPAN_OF_PARENT, traceFlags });
  });

  it.each([
    undefined,
    null,
    7,
    [PARENT],
    '',
    `01-${TRACE}-${SPAN}-01`,
    `${PARENT}-more`,
    `x${PARENT}`,
    PARENT.toUpperCase(),
    PARENT.replace(TRACE, '0'.repeat(32)),
    PARENT.replace(SPAN, '0'.repeat(16)),
  ])('is not %j', (text) => {
    expect(parseTraceparent(text)).toBeUndefined();
  });

  it.each([0, 1])('is written as it is read, with the flag %d', (traceFlags) => {
    const span = { ...SPAN_OF_PARENT, traceFlags };
    expect(parseTraceparent(formatTraceparent(span))).toEqual(span);
  });
});

describe('the trace of a workflow whose caller has none', () => {
  const own = () => ownTrace('default', 'fox', 'run-1');

  it('is a sampled trace, the same each time', () => {
    expect(parseTraceparent(formatTraceparent(own()))).toEqual({ ...own(), traceFlags: 1 });
    expect(own().spanId).not.toBe(own().traceId.slice(0, 16));
  });

  it('is another one in another namespace, for another name, and for a new start', () => {
    const others = [
      ownTrace('other', 'fox', 'run-1'),
      ownTrace('default', 'owl', 'run-1'),
      ownTrace('default', 'fox', 'run-2'),
    ];
    expect(new Set([own(), ...others].map(({ traceId }) => traceId)).size).toBe(4);
    expect(new Set([own(), ...others].map(({ spanId }) => spanId)).size).toBe(4);
  });
});

describe('the header of a trace', () => {
  it('is read as it was written', () => {
    expect(readTraceHeader(writeTraceHeader(PARENT))).toEqual(SPAN_OF_PARENT);
  });

  it('is absent without a trace', () => {
    expect(writeTraceHeader(undefined)).toEqual({});
    expect(readTraceHeader({})).toBeUndefined();
  });

  it.each([
    ['another value', defaultPayloadConverter.toPayload({ traceparent: 7 })],
    ['nothing in it', defaultPayloadConverter.toPayload(null)],
    ['bytes that are no JSON', { metadata: {}, data: new Uint8Array([255]) }],
  ])('has no trace with %s', (_what, payload) => {
    expect(readTraceHeader({ [TRACE_HEADER]: payload })).toBeUndefined();
  });
});
