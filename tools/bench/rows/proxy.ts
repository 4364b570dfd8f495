import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { endWithUs } from '../../../test/support/end-with-us.ts';
import type { Bench } from '../support/bench.ts';
import { processorMs, root } from '../support/child.ts';
import { compared, type Row } from '../support/row.ts';
import { interleave } from '../support/statistics.ts';

const echo = [process.execPath, join(root, 'tools/bench/children/stdio-echo.ts')];
/** The client starts one or the other in place of the server. */
const proxy = [join(root, 'packages/proxy/src/main.ts'), '--', ...echo];
const relay = [join(root, 'tools/bench/children/stdio-relay.ts'), ...echo];

/** One tool call after another that no rule names, through the proxy and through the SDK's own transports. */
export async function proxyRows(bench: Bench): Promise<Row[]> {
  await using ours = await start(proxy);
  await using baseline = await start(relay);
  const runs = await interleave(bench, ours.measure(bench.seconds), baseline.measure(bench.seconds));
  const values = (of: (measured: Measured) => number) => ({
    ours: runs.ours.map(of),
    baseline: runs.baseline.map(of),
  });
  const transports = 'the transports of the SDK';
  const target = { bound: 'at most', value: 1.5, profile: 'proxy' } as const;
  return [
    compared(
      'tool call through the proxy that passes: processor time',
      'µs',
      transports,
      values(({ cpuMs }) => cpuMs * 1000),
      target,
    ),
    compared(
      '  p50, with the client and the server',
      'µs',
      transports,
      values(({ p50Ms }) => p50Ms * 1000),
      target,
    ),
  ];
}

interface Measured {
  /** Per call, of the proxy alone. */
  readonly cpuMs: number;
  readonly p50Ms: number;
}

async function start(args: readonly string[]) {
  const env = { ...process.env, NODE_ENV: 'production', NODE_NO_WARNINGS: '1' };
  const child = endWithUs(spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'ignore'], env }));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  let id = 0;
  async function call(): Promise<void> {
    id += 1;
    const params = { name: 'read', arguments: { path: '/home/me/notes/a.txt' }, _meta: { progressToken: id } };
    child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params })}\n`);
    const { value, done } = await lines.next();
    if (done === true || !String(value).includes('"content"')) throw new Error('the call was not answered');
  }
  // Loads, and compiles.
  for (let calls = 0; calls < 2000; calls += 1) await call();
  return {
    measure: (seconds: number) => async (): Promise<Measured> => {
      const took: number[] = [];
      const cpuBefore = processorMs(child.pid ?? 0);
      for (const until = performance.now() + seconds * 1000; performance.now() < until; ) {
        const begun = performance.now();
        await call();
        took.push(performance.now() - begun);
      }
      const cpuMs = (processorMs(child.pid ?? 0) - cpuBefore) / took.length;
      return { cpuMs, p50Ms: took.toSorted((a, b) => a - b)[Math.floor(took.length / 2)] ?? Number.NaN };
    },
    async [Symbol.asyncDispose]() {
      child.stdin.end();
      if (child.exitCode === null) await once(child, 'exit');
    },
  };
}
