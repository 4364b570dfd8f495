/** Loaded into a process under test before any other module, to report figures that are invisible from outside. */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { z } from 'zod';

export const insideReportSchema = z.strictObject({
  /** After a full collection, in bytes. */
  rss: z.number(),
  heapUsed: z.number(),
  external: z.number(),
  /** Since the last report, in ms. */
  loopDelayP99: z.number(),
  loopDelayMax: z.number(),
});
export type InsideReport = z.infer<typeof insideReportSchema>;

const RESOLUTION_MS = 5;

if (process.argv[1] !== import.meta.filename && process.send !== undefined) {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delays.enable();
  process.on('message', message => {
    if (message !== 'inside') return;
    const loopDelayP99 = Math.max(0, delays.percentile(99) / 1e6 - RESOLUTION_MS);
    const loopDelayMax = Math.max(0, delays.max / 1e6 - RESOLUTION_MS);
    collect();
    collect();
    const { rss, heapUsed, external } = process.memoryUsage();
    delays.reset();
    process.send?.({ rss, heapUsed, external, loopDelayP99, loopDelayMax });
  });
}
