import { type Clock, systemClock } from './clock.ts';
import type {
  ElicitationContext,
  ElicitationHandler,
  ElicitationRequest,
  OptionalElicitationHandler,
} from './elicitation.ts';
import { HostError } from './errors.ts';

/** Returns the answer of the first handler that gives one, otherwise `cancel`. */
export function firstOf(...handlers: readonly OptionalElicitationHandler[]): ElicitationHandler {
  return async (request, context) => {
    for (const handler of handlers) {
      const answer = await handler(request, context);
      if (answer !== undefined) return answer;
    }
    return { action: 'cancel', by: 'policy' };
  };
}

/** Calls `handler` only if `applies` returns true; for {@link firstOf}. */
export function when(
  applies: (request: ElicitationRequest, context: ElicitationContext) => boolean,
  handler: OptionalElicitationHandler,
): OptionalElicitationHandler {
  return async (request, context) => (applies(request, context) ? await handler(request, context) : undefined);
}

export interface RateLimit {
  /** Maximum number of elicitations of one MCP server within `perMs`. */
  readonly max: number;
  readonly perMs: number;
  readonly clock?: Clock;
  /** Called for each elicitation above the limit. */
  readonly onLimited?: (context: ElicitationContext) => void;
}

/**
 * Limits the rate of elicitations of each MCP server (MCP: clients SHOULD limit the rate). Above the limit the answer is
 * `cancel`, not `decline`, because the user did not decide. Each MCP server has its own sliding window.
 *
 * @throws {HostError} `invalid_options`
 */
export function rateLimited(handler: ElicitationHandler, limit: RateLimit): ElicitationHandler {
  const { max, perMs, clock = systemClock } = limit;
  if (!Number.isSafeInteger(max) || max < 1 || !(perMs > 0))
    throw new HostError('invalid_options', 'a rate limit needs a positive number of elicitations and a positive time');
  const asked = new Map<string, readonly number[]>();
  return async (request, context) => {
    const now = clock.now();
    const { id } = context.mcpServer;
    const recent = (asked.get(id) ?? []).filter(at => at > now - perMs);
    if (recent.length >= max) {
      asked.set(id, recent);
      limit.onLimited?.(context);
      return { action: 'cancel', by: 'policy' };
    }
    asked.set(id, [...recent, now]);
    return await handler(request, context);
  };
}
