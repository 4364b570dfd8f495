import type { GatewayConfig } from '../platform/config/config-schema.ts';
import { isLocalKey } from '../platform/config/vault-config.ts';
import type { Logger } from '../platform/logger.ts';
import type { Metrics } from '../platform/metrics/create-metrics.ts';
import { periodic } from '../platform/periodic.ts';
import { type OpenedVault, openVault } from './open-vault.ts';

/** Pause between probes of a key whose service does not work, in milliseconds. */
const PROBE_MS = 10_000;

/**
 * Opens the vault of a running gateway. Tries each key of a key service at the start, without delaying it, and again while it does not
 * work, so that readiness recovers without a request. Logs every change.
 * @throws ConfigError, StartError, VaultError
 */
export async function openWatchedVault(
  config: GatewayConfig,
  p: { readonly logger: Logger; readonly metrics: Pick<Metrics, 'keyService'> | undefined; readonly probeMs?: number },
): Promise<OpenedVault> {
  const { logger, metrics } = p;
  const opened = await openVault(config, {
    onKeyService(kid, fault) {
      metrics?.keyService(kid, fault === undefined);
      if (fault === undefined) logger.info({ event: 'key_service.available', kid }, 'key service available');
      else logger.warn({ event: 'key_service.unavailable', kid, fault }, 'key service unavailable');
    },
  });
  const kids = config.vault.keys.filter(key => !isLocalKey(key)).map(({ kid }) => kid);
  const probing = kids.map(kid => {
    metrics?.keyService(kid, true);
    let isUntried = true;
    return periodic({
      every: p.probeMs ?? PROBE_MS,
      isImmediate: true,
      async run() {
        const isDue = isUntried || opened.keyFaults.has(kid);
        isUntried = false;
        if (isDue) await opened.probe(kid);
      },
      onError: error => logger.error({ event: 'key_service.probe_failed', kid, error }, 'probing a key service failed'),
    });
  });
  return {
    ...opened,
    async [Symbol.asyncDispose]() {
      for (const probes of probing) void probes.stop();
      await opened[Symbol.asyncDispose]();
    },
  };
}
