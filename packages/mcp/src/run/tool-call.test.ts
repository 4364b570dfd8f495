import { describe, expect, test } from 'vitest';
import { traceContextOf } from './tool-call.ts';

const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

describe('the trace of an MCP request', () => {
  test('reads the trace from _meta', () => {
    expect(traceContextOf({ traceparent })).toEqual({ traceparent });
    expect(traceContextOf({ traceparent, tracestate: 'vendor=1', other: 'x' })).toEqual({
      traceparent,
      tracestate: 'vendor=1',
    });
  });

  test.each([
    undefined,
    {},
    { tracestate: 'vendor=1' },
    { traceparent: 7 },
    { traceparent: '' },
    { traceparent: `${traceparent}\r\nx-evil: 1` },
    { traceparent: `${traceparent}-extra` },
    { traceparent: traceparent.toUpperCase() },
    { traceparent: `ff${traceparent.slice(2)}` },
    { traceparent: `00-${'0'.repeat(32)}-b7ad6b7169203331-01` },
    { traceparent: `00-0af7651916cd43dd8448eb211c80319c-${'0'.repeat(16)}-01` },
  ])('is undefined without a valid trace: %j', meta => {
    expect(traceContextOf(meta)).toBeUndefined();
  });

  test.each(['', 'a=1\r\nx: y', 'ä=1', 'a'.repeat(513), 7])(
    'the trace is forwarded without an invalid tracestate: %j',
    state => {
      expect(traceContextOf({ traceparent, tracestate: state })).toEqual({ traceparent });
    },
  );
});
