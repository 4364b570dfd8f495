import type { ElicitationBody } from '@postern/api';
import { isTerminal } from './elicitation-status.ts';
import type { Run } from './run.ts';

/** Seconds between progress notifications; MCP clients that count them reset a timeout of a minute or less. */
const PROGRESS_SECONDS = 10;
/** Milliseconds that answers may be late before the hold ends regardless; keeps a 45 s hold under a 60 s timeout. */
const SLACK_MS = 8_000;

/**
 * Reads the stored status until it is terminal or `holdMs` is over, and returns the last reading. The time is cut into
 * waiting reads, so nothing here keeps a clock.
 *
 * @throws the signal's reason when the MCP client gave up; the elicitation lives on
 */
export async function hold(
  run: Run,
  elicitationId: string,
  provider: string,
  signal: AbortSignal,
): Promise<ElicitationBody> {
  const { client, holdMs, text } = run.environment;
  const { reportProgress } = run.call;
  const slices = cut(Math.floor(holdMs / 1000), reportProgress === undefined ? 55 : PROGRESS_SECONDS);
  const deadline = AbortSignal.timeout(holdMs + SLACK_MS);
  let latest: ElicitationBody | undefined;
  for (const [index, seconds] of slices.entries()) {
    await reportProgress?.(index + 1, text({ kind: 'waiting', provider }));
    latest = await client.read(elicitationId, seconds, signal);
    if (isTerminal(latest) || deadline.aborted) return latest;
  }
  return latest ?? (await client.read(elicitationId, 0, signal));
}

function cut(total: number, size: number): number[] {
  const slices: number[] = [];
  for (let left = total; left > 0; left -= size) slices.push(Math.min(left, size));
  return slices;
}
