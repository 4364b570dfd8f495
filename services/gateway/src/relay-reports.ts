import type { Logger } from './logger.ts';
import type { Metrics } from './metrics/create-metrics.ts';
import type { RelayOptions } from './relay.ts';

/** Reports trouble of the relay. After a gap, MCP servers miss events until they read the status. */
export function relayReports(
  logger: Pick<Logger, 'warn' | 'error'>,
  metrics: Pick<Metrics, 'relayGap'> | undefined,
): Pick<RelayOptions, 'onError' | 'onGap'> {
  return {
    onError: error => logger.warn({ event: 'relay.error', error }, 'carrying events failed; retrying'),
    onGap(shard) {
      metrics?.relayGap();
      logger.error({ event: 'relay.gap', shard }, 'events were dropped before they were carried');
    },
  };
}
