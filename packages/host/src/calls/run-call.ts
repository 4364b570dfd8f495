import type { Clock } from '../clock.ts';
import type { Completions } from '../completions.ts';
import type { CompletionPrompt, ElicitationHandler, McpServerIdentity } from '../elicitation.ts';
import { HostError } from '../errors.ts';
import { readUrlElicitationRequired } from '../requests.ts';
import { type FulfilInput, type InputRequired, InputRounds, type RoundAnswer } from './input-rounds.ts';
import type { CallLimits } from './limits.ts';
import { UrlWait } from './url-wait.ts';

/** Sends one request. `timeoutMs` is the remaining time of the whole call. */
export type Leg<Result> = (p: {
  readonly answer: RoundAnswer;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}) => Promise<{ readonly result: Result } | { readonly inputRequired: InputRequired }>;

export interface CallOptions<Result> {
  readonly leg: Leg<Result>;
  /** Its answers are already validated. */
  readonly handler: ElicitationHandler;
  readonly mcpServer: McpServerIdentity;
  readonly toolName: string;
  readonly completions: Completions;
  readonly completionPrompt: CompletionPrompt | undefined;
  readonly fulfilInput: FulfilInput | undefined;
  readonly limits: CallLimits;
  readonly clock: Clock;
  readonly signal: AbortSignal | undefined;
}

/** Longest delay of a Node.js timer, which fires at once beyond it. The SDKs pass timeouts on unchecked. */
const MAX_TIMER_MS = 2_147_483_647;

/**
 * Runs one tool call and handles its elicitations in both revisions: −32042 with retries (2025-11-25) and rounds of
 * `input_required` (2026-07-28).
 *
 * @throws errors of the MCP server and of the SDK, unchanged, including a −32042 that is no elicitation
 * @throws {HostError} see {@link HostErrorCode}
 */
export async function runCall<Result>(options: CallOptions<Result>): Promise<Result> {
  const { clock, limits, handler, completions } = options;
  const over = new AbortController();
  const timeout = new AbortController();
  const signals = [timeout.signal, ...(options.signal === undefined ? [] : [options.signal])];
  const signal = AbortSignal.any(signals);
  const startedAt = clock.now();
  void clock.wait(limits.totalMs, over.signal).then(() => {
    if (!over.signal.aborted) timeout.abort(new HostError('call_timeout', 'the call exceeded its timeout'));
  });

  const context = { mcpServer: options.mcpServer, toolName: options.toolName, signal };
  const urls = new UrlWait({
    handler,
    completions,
    clock,
    completionMs: limits.completionMs,
    completionPrompt: options.completionPrompt,
  });
  const rounds = new InputRounds({ handler, clock, limits, fulfilInput: options.fulfilInput });

  try {
    let answer: RoundAnswer = {};
    for (let retries = 0; ; ) {
      const sentAt = clock.now();
      try {
        const timeoutMs = Math.min(Math.max(1, limits.totalMs - (sentAt - startedAt)), MAX_TIMER_MS);
        const outcome = await options.leg({ answer, timeoutMs, signal });
        if ('result' in outcome) return outcome.result;
        answer = await rounds.answer(outcome.inputRequired, context, clock.now() - sentAt);
      } catch (error) {
        const required = readUrlElicitationRequired(error);
        if (required === undefined) throw error;
        if (++retries > limits.retries)
          throw new HostError('too_many_rounds', 'the MCP server exceeded the limit of retries', { cause: error });
        for (const request of required) await urls.settle(request, context);
        answer = {};
      }
    }
  } catch (error) {
    // The SDK wraps the abort reason in its own error.
    if (timeout.signal.aborted) throw timeout.signal.reason;
    throw error;
  } finally {
    over.abort();
  }
}
