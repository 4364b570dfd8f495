import { QuotaExceededError } from '@postern/elicitation';
import type { Logger } from './logger.ts';
import type { Metrics } from './metrics/create-metrics.ts';

/** How long the log stays silent about the same MCP server. */
const QUIET_MS = 60_000;

/**
 * Counts requests that found no room in the storage quota of an MCP server, and names that MCP server in the log once a minute.
 * @returns to be called with any error.
 */
export function createQuotaReports(p: {
  logger: Pick<Logger, 'warn'>;
  metrics: Pick<Metrics, 'quotaExceeded'> | undefined;
  now: () => number;
}): (error: unknown) => void {
  const quietUntil = new Map<string, number>();
  return error => {
    if (!(error instanceof QuotaExceededError)) return;
    p.metrics?.quotaExceeded();
    const { mcpServerId } = error;
    if ((quietUntil.get(mcpServerId) ?? 0) > p.now()) return;
    quietUntil.set(mcpServerId, p.now() + QUIET_MS);
    p.logger.warn({ event: 'quota.exceeded', mcpServerId }, 'storage quota of an MCP server used up');
  };
}
