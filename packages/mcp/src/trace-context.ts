/** Where a request belongs in a distributed trace (W3C Trace Context, level 1), as it came. */
export interface TraceContext {
  readonly traceparent: string;
  readonly tracestate?: string;
}

/** Version 00 and those after it, which begin alike (section 4.3); ids of zeros are none (section 3.2.2). */
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;
/** Section 3.3: at least 512 characters are passed on. More are not, and nothing that could end a header. */
const TRACESTATE = /^[\x20-\x7e]{1,512}$/;

/** What the `_meta` of an MCP request says of its trace; undefined where it says nothing, or something else than that. */
export function traceContextOf(meta: Readonly<Record<string, unknown>> | undefined): TraceContext | undefined {
  const { traceparent, tracestate } = meta ?? {};
  if (typeof traceparent !== 'string' || !TRACEPARENT.test(traceparent)) return undefined;
  if (typeof tracestate !== 'string' || !TRACESTATE.test(tracestate)) return { traceparent };
  return { traceparent, tracestate };
}
