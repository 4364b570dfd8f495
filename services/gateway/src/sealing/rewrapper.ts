import { setTimeout as delay } from 'node:timers/promises';
import { newOperationId, type Stores, systemEntropy } from '@postern/elicitation';
import type { Vault } from '@postern/vault';
import type { Pseudonyms } from '../platform/audit/audit-events.ts';
import { createAuditLog } from '../platform/audit/audit-log.ts';
import type { Logger } from '../platform/logger.ts';
import { periodic } from '../platform/periodic.ts';
import { type RewrapReport, rewrapAll } from './rewrap.ts';

export interface RewrapperOptions {
  readonly stores: {
    readonly sealedRecords: Pick<Stores['sealedRecords'], 'walk' | 'replace'>;
    readonly leases: Pick<Stores['leases'], 'take' | 'release'>;
  };
  readonly vault: Vault;
  readonly logger: Logger;
  readonly pseudonym: Pseudonyms;
  /**
   * Pause before the first round and after a failure. Default one minute: during a rolling restart, no value must come under a key
   * that some replicas do not have yet.
   */
  readonly retryMs?: number;
  /** Pause of all replicas after a complete round. Default ten minutes. */
  readonly restMs?: number;
  /** Pause after each batch. Default 50 ms. */
  readonly stepPauseMs?: number;
  /** Duration of the lease, after which another replica takes over from a dead one. Default 30 seconds. */
  readonly leaseMs?: number;
}

export interface Rewrapper extends AsyncDisposable {
  /** Resolves after the batch in progress. The rewrapper writes nothing afterwards. */
  stop(): Promise<void>;
}

const LEASE = 'rewrap';
/** Values per batch: a few milliseconds of one core. */
const BATCH = 8;

/**
 * Re-wraps sealed values under the current key in the background, on one replica at a time, at most 160 values per second. Logs which
 * keys are no longer needed and which are missing.
 */
export function startRewrapper(options: RewrapperOptions): Rewrapper {
  const { stores, vault, logger, retryMs = 60_000, restMs = 600_000, stepPauseMs = 50, leaseMs = 30_000 } = options;
  const { leases, sealedRecords: records } = stores;
  // Without sinks: these lines are in the log only.
  const auditLog = createAuditLog(logger, options.pseudonym);
  const own = { name: LEASE, holder: newOperationId(systemEntropy) };

  async function shouldContinue(signal: AbortSignal): Promise<boolean> {
    if (!(await delay(stepPauseMs, true, { signal, ref: false }).catch(() => false))) return false;
    // A process that was paused for longer than the lease finds here that another replica has taken over.
    return leases.take({ ...own, leaseMs });
  }

  /** @returns true if all values are under the current key */
  async function round(signal: AbortSignal): Promise<boolean> {
    if (!(await leases.take({ ...own, leaseMs }))) return false;
    let hasRest = false;
    try {
      const report = await rewrapAll({ records, vault, batch: BATCH, shouldContinue: () => shouldContinue(signal) });
      logReport(report);
      hasRest = report.result === 'done' && (await leases.take({ ...own, leaseMs: restMs }));
    } finally {
      if (!hasRest) await leases.release(own);
    }
    return hasRest;
  }

  function logReport({ result, rewrapped, superseded, unknown, damaged }: RewrapReport): void {
    const [current, ...old] = vault.kids;
    if (rewrapped > 0) auditLog.record('vault.rewrapped', { kid: current, rewrapped, overtaken: superseded, result });
    for (const [kid, values] of unknown) auditLog.record('vault.key_lost', { kid, values });
    if (damaged.length > 0) auditLog.record('vault.damaged', { values: damaged.length });
    if (result === 'unsettled') auditLog.record('vault.old_key_in_use', { old });
    if (result === 'done' && old.length > 0 && damaged.length === 0) auditLog.record('vault.keys_removable', { old });
  }

  let isResting = false;
  const rounds = periodic({
    every: () => (isResting ? restMs : retryMs),
    async run(signal) {
      isResting = false;
      isResting = await round(signal);
    },
    onError: error => logger.warn({ event: 'vault.rewrap_failed', error }, 're-wrapping failed; retrying'),
  });
  async function stop(): Promise<void> {
    await rounds.stop();
    // The rest must not outlive this replica: its successor may have a newer key.
    await leases.release(own).catch((error: unknown) => {
      logger.warn({ event: 'vault.rewrap_failed', error }, 'failed to release the re-wrap lease');
    });
  }
  return { stop, [Symbol.asyncDispose]: stop };
}
