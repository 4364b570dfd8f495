import { type Clock, systemClock } from './clock.ts';
import type {
  ElicitationContext,
  ElicitationHandler,
  ElicitationRequest,
  OptionalElicitationHandler,
} from './elicitation.ts';
import { HostError } from './errors.ts';

/** The answer of the first handler that has one; `cancel` when none has. */
export function firstOf(...handlers: readonly OptionalElicitationHandler[]): ElicitationHandler {
  return async (request, context) => {
    for (const handler of handlers) {
      const answer = await handler(request, context);
      if (answer !== undefined) return answer;
    }
    return { action: 'cancel' };
  };
}

/** Asks `handler` only where `applies` says so; for {@link firstOf}. */
export function when(
  applies: (request: ElicitationRequest, context: ElicitationContext) => boolean,
  handler: OptionalElicitationHandler,
): OptionalElicitationHandler {
  return async (request, context) => (applies(request, context) ? await handler(request, context) : undefined);
}

export interface RateLimit {
  /** Elicitations of one MCP server in `perMs`. */
  readonly max: number;
  readonly perMs: number;
  readonly clock?: Clock;
  /** Hears of every elicitation that was not let through. */
  readonly onLimited?: (context: ElicitationContext) => void;
}

/**
 * Bounds how often one MCP server may ask (MCP: clients SHOULD limit the rate). Above the limit the answer is `cancel`,
 * since nobody has said no. The window slides, and each MCP server has its own.
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
      return { action: 'cancel' };
    }
    asked.set(id, [...recent, now]);
    return await handler(request, context);
  };
}
