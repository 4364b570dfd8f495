import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { directed } from '../../directed.ts';
import type { FaultRun, Scenario } from '../../scenario.ts';

const FILE = 'services/gateway/src/events/webhooks/webhooks-away.slow.test.ts';
const TEST = 'N7: an hour away';
const root = fileURLToPath(new URL('../../../..', import.meta.url));
const measureSchema = z.object({ name: z.string(), value: z.number(), unit: z.string() });

/** Runs the directed test with the number of deliveries of the catalogue. */
async function withBacklog({ measure }: FaultRun, waiting: number): Promise<void> {
  const vitest = join(dirname(createRequire(import.meta.url).resolve('vitest/package.json')), 'vitest.mjs');
  const child = spawn(process.execPath, [vitest, 'run', FILE, '-t', TEST, '--disableConsoleIntercept'], {
    cwd: root,
    env: { ...process.env, WEBHOOKS_WAITING: String(waiting) },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const chunks: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
  const [code] = (await once(child, 'close')) as [number | null];
  const output = Buffer.concat(chunks).toString();
  const measures = [...output.matchAll(/^measure (\{.*\})$/gm)].map(([, json = '']) =>
    measureSchema.parse(JSON.parse(json)),
  );
  if (code !== 0 || measures.length === 0) throw new Error(`the test exited with ${code}: ${output.slice(-2000)}`);
  for (const { name, value, unit } of measures) measure(name, value, unit);
}

export const receiverAway: readonly Scenario[] = [
  directed('N7', 'a webhook receiver is unavailable for an hour, with 500 deliveries waiting', {
    file: FILE,
    test: TEST,
  }),
  {
    item: 'N7',
    name: 'a webhook receiver is unavailable for an hour, with 50,000 deliveries waiting',
    length: 'long',
    timeoutMs: 3_600_000,
    run: run => withBacklog(run, 50_000),
  },
];
