import type { ElicitationBody } from '@postern/api';
import { type Ask, type AskSpec, aboutOf, timeLeft } from './ask.ts';
import { asError, GatewayError } from './errors.ts';
import { isTerminal } from './gateway-client.ts';
import type { ToolRun } from './tool-run.ts';

/** Seconds between progress notifications. MCP clients reset their timeout, a minute or less, on progress. */
const PROGRESS_SECONDS = 10;
/** Maximum delay of responses before the hold ends, in milliseconds. Keeps a 45 s hold below a 60 s timeout. */
const SLACK_MS = 8_000;

/**
 * Waits for a terminal status for `holdMs`, or for the ask's `answerWithinMs`, and returns the last status that was read. The wait is
 * split into slices, with a progress notification before each.
 *
 * @throws the signal's reason when the MCP client gave up; the elicitation stays open
 * @throws {GatewayError}
 */
export async function hold(
  run: ToolRun,
  ask: Ask,
  elicitationId: string,
  /** Milliseconds of `holdMs` that this request has already waited. */
  waitedMs = 0,
): Promise<ElicitationBody> {
  const { spec, signal } = ask;
  const { client, waitingReads } = run.environment;
  const holdMs = Math.max(0, Math.min(run.environment.holdMs - waitedMs, timeLeft(run, ask)));
  const slices = cut(Math.floor(holdMs / 1000), run.call.reportProgress === undefined ? 55 : PROGRESS_SECONDS);
  const deadline = AbortSignal.timeout(holdMs + SLACK_MS);
  const either = AbortSignal.any([signal, deadline]);
  let latest: ElicitationBody | undefined;
  using watch = waitingReads.watch(client, elicitationId);
  try {
    if (run.call.reportProgress !== undefined) {
      // Report no progress after the user has finished. This record also has the provider's display name.
      latest = await client.read(elicitationId, 0, either);
      if (isTerminal(latest)) return latest;
    }
    for (const [index, seconds] of slices.entries()) {
      await report(run, index + 1, spec, latest);
      latest = (await watch.wait(seconds, either)) ?? latest;
      if (latest !== undefined && isTerminal(latest)) return latest;
    }
    return latest ?? (await client.read(elicitationId, 0, either));
  } catch (error) {
    if (signal.aborted || !deadline.aborted) throw error;
    if (latest !== undefined) return latest;
    throw new GatewayError('timeout', 'The gateway did not respond in time.', { cause: error });
  }
}

/** A failed notification must not fail the call. */
async function report(
  run: ToolRun,
  progress: number,
  spec: AskSpec,
  latest: ElicitationBody | undefined,
): Promise<void> {
  try {
    await run.call.reportProgress?.(progress, run.environment.text({ kind: 'waiting', about: aboutOf(spec, latest) }));
  } catch (error) {
    run.environment.onBackgroundError(asError(error));
  }
}

function cut(total: number, size: number): number[] {
  const slices: number[] = [];
  for (let left = total; left > 0; left -= size) slices.push(Math.min(left, size));
  return slices;
}
