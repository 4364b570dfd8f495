import type { ElicitationBody } from '@postern/api';
import { type Ask, aboutOf } from './ask.ts';
import { watchEnd } from './bus/await-end.ts';
import { isTerminal } from './elicitation-status.ts';
import { asError, GatewayError } from './errors.ts';
import { type Inquiry, type Run, timeLeft } from './run.ts';

/** Seconds between progress notifications; MCP clients that count them reset a timeout of a minute or less. */
const PROGRESS_SECONDS = 10;
/** Seconds after which the status is read again even though no event came. */
const LOOK_SECONDS = 45;
/** Milliseconds that answers may be late before the hold ends regardless; keeps a 45 s hold under a 60 s timeout. */
const SLACK_MS = 8_000;

/**
 * Reads the stored status until it is terminal or `holdMs` (or the question's own time) is over, and returns the last reading.
 * The time is cut into slices, between which the MCP client hears that it goes on.
 *
 * @throws the signal's reason when the MCP client gave up; the elicitation lives on
 * @throws {GatewayError}
 */
export async function hold(run: Run, inquiry: Inquiry, elicitationId: string): Promise<ElicitationBody> {
  const { ask, signal } = inquiry;
  const { client, bus } = run.environment;
  const holdMs = Math.min(run.environment.holdMs, await timeLeft(run, inquiry));
  const slices = cut(Math.floor(holdMs / 1000), run.call.reportProgress === undefined ? 55 : PROGRESS_SECONDS);
  const deadline = AbortSignal.timeout(holdMs + SLACK_MS);
  const either = AbortSignal.any([signal, deadline]);
  let latest: ElicitationBody | undefined;
  /** Seconds since it was read. */
  let age = 0;
  using watch = watchEnd(client, bus, elicitationId);
  try {
    if (run.call.reportProgress !== undefined) {
      // Nobody is told to wait for a person who has finished, and the provider has the name that people know.
      latest = await watch.read(0, either);
      if (latest !== undefined && isTerminal(latest)) return latest;
    }
    for (const [index, seconds] of slices.entries()) {
      await report(run, index + 1, ask, latest);
      const current = await watch.read(seconds, either, latest !== undefined && age < LOOK_SECONDS);
      age = current === undefined ? age + seconds : 0;
      latest = current ?? latest;
      if (latest !== undefined && isTerminal(latest)) return latest;
    }
    return latest ?? (await client.read(elicitationId, 0, either));
  } catch (error) {
    if (signal.aborted || !deadline.aborted) throw error;
    if (latest !== undefined) return latest;
    throw new GatewayError('timeout', 'The gateway did not answer in time.', { cause: error });
  }
}

/** A notification that cannot be delivered is no reason to fail the call that it decorates. */
async function report(run: Run, progress: number, ask: Ask, latest: ElicitationBody | undefined): Promise<void> {
  try {
    await run.call.reportProgress?.(progress, run.environment.text({ kind: 'waiting', about: aboutOf(ask, latest) }));
  } catch (error) {
    run.environment.onBackgroundError(asError(error));
  }
}

function cut(total: number, size: number): number[] {
  const slices: number[] = [];
  for (let left = total; left > 0; left -= size) slices.push(Math.min(left, size));
  return slices;
}
