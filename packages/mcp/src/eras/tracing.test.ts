import { expect, test } from 'vitest';
import { legacyWorld } from '../testing/legacy-world.ts';
import { modernWorld } from '../testing/modern-world.ts';

const meta = { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', tracestate: 'vendor=1' };

/** Records the trace of each request to the gateway. */
function recordingFetch() {
  const traces: (readonly (string | null)[])[] = [];
  const recording: typeof fetch = (url, init) => {
    const headers = new Headers(init?.headers);
    traces.push([headers.get('traceparent'), headers.get('tracestate')]);
    return fetch(url, init);
  };
  return { traces, fetch: recording };
}

const inTrace = [meta.traceparent, meta.tracestate];
const outOfIt = [null, null];

test('2026-07-28: the calls of a request continue its trace, and those of the next request do not', async () => {
  const recorded = recordingFetch();
  await using world = await modernWorld({ fetch: recorded.fetch, check: false, holdMs: 0 });
  await world.call({ name: 'outcome', meta });
  const first = recorded.traces.splice(0);
  expect(first.length).toBeGreaterThan(0);
  expect(first).toEqual(first.map(() => inTrace));
  await world.call({ name: 'outcome', args: { title: 'Another' } });
  expect(recorded.traces).toEqual(recorded.traces.map(() => outOfIt));
  expect(recorded.traces.length).toBeGreaterThan(0);
});

test.each(['v1', 'v2'] as const)('2025-11-25, SDK %s: the calls of a request continue its trace', async sdk => {
  const recorded = recordingFetch();
  await using world = await legacyWorld(sdk, { fetch: recorded.fetch, check: false });
  const traced = await world.connect(sdk, { meta });
  await traced.call();
  // The watch for the end outlives the request, so it belongs to no trace.
  expect(recorded.traces[0]).toEqual(inTrace);
  const plain = await world.connect(sdk, { meta: { traceparent: 'not one' } });
  const before = recorded.traces.length;
  await plain.call('Another');
  expect(recorded.traces.slice(before)).not.toContainEqual(inTrace);
  expect(recorded.traces.length).toBeGreaterThan(before);
});
