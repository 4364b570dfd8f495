import { setTimeout as delay } from 'node:timers/promises';
import { newOperationId, systemEntropy } from '@postern/elicitation';
import type { RedisStores } from '@postern/store-redis';
import type { Vault } from '@postern/vault';
import type { Logger } from './logger.ts';
import { type RewrapReport, rewrapAll } from './rewrap.ts';

export interface RewrapperOptions {
  readonly stores: {
    readonly sealedRecords: Pick<RedisStores['sealedRecords'], 'walk' | 'replace'>;
    readonly leases: Pick<RedisStores['leases'], 'take' | 'release'>;
  };
  readonly vault: Vault;
  readonly logger: Logger;
  /**
   * Pause before the first look, and between two tries. Default one minute: while the replicas of a deployment are replaced
   * one after another, nothing is brought under a key that some of them do not have yet.
   */
  readonly retryMs?: number;
  /** How long all replicas leave it alone after everything was found in order. Default ten minutes. */
  readonly restMs?: number;
  /** Pause after every few values. Default 50 ms. */
  readonly stepPauseMs?: number;
  /** After a replica was killed at this work, another goes on after so long. Default 30 seconds. */
  readonly leaseMs?: number;
}

export interface Rewrapper extends AsyncDisposable {
  /** Resolves when the values in hand are done; nothing is touched afterwards. */
  stop(): Promise<void>;
}

const LEASE = 'rewrap';
/** Opened and sealed at once: some milliseconds of one core. */
const BATCH = 8;

/**
 * Brings sealed values under the current key in the background, on one replica at a time and slowly enough to disturb
 * nobody: 160 values a second at most. Names the keys that are no longer needed, and those that are missing.
 */
export function startRewrapper(options: RewrapperOptions): Rewrapper {
  const { stores, vault, logger, retryMs = 60_000, restMs = 600_000, stepPauseMs = 50, leaseMs = 30_000 } = options;
  const { leases, sealedRecords: records } = stores;
  const stopping = new AbortController();
  const own = { name: LEASE, holder: newOperationId(systemEntropy) };

  /** False when it was cut short. */
  async function pause(ms: number): Promise<boolean> {
    return delay(ms, true, { signal: stopping.signal, ref: false }).catch(() => false);
  }

  async function goOn(): Promise<boolean> {
    if (!(await pause(stepPauseMs))) return false;
    // Whoever was frozen for longer than the lease finds that another has taken over.
    return leases.take({ ...own, leaseMs });
  }

  /** True when everything is in order and all may rest. */
  async function round(): Promise<boolean> {
    if (!(await leases.take({ ...own, leaseMs }))) return false;
    let hasRest = false;
    try {
      const report = await rewrapAll({ records, vault, batch: BATCH, goOn });
      tell(report);
      hasRest = report.result === 'done' && (await leases.take({ ...own, leaseMs: restMs }));
    } finally {
      if (!hasRest) await leases.release(own);
    }
    return hasRest;
  }

  function tell({ result, rewrapped, overtaken, unknown, damaged }: RewrapReport): void {
    const [current, ...old] = vault.kids;
    const audit = logger.child({ audit: true });
    if (rewrapped > 0)
      audit.info({ event: 'vault.rewrapped', kid: current, rewrapped, overtaken, result }, 're-wrapped');
    for (const [kid, values] of unknown)
      audit.error({ event: 'vault.key_lost', kid, values }, 'sealed values name a key that is not configured');
    if (damaged.length > 0)
      audit.error({ event: 'vault.damaged', values: damaged.length }, 'sealed values do not open');
    if (result === 'unsettled')
      audit.warn({ event: 'vault.old_key_in_use', old }, 'another replica still seals with an old key');
    if (result === 'done' && old.length > 0 && damaged.length === 0)
      audit.info({ event: 'vault.keys_removable', old }, 'old keys are no longer needed');
  }

  async function run(): Promise<void> {
    let isResting = false;
    while (await pause(isResting ? restMs : retryMs)) {
      try {
        isResting = await round();
      } catch (error) {
        isResting = false;
        logger.warn({ event: 'vault.rewrap_failed', error }, 're-wrapping failed, will try again');
      }
    }
  }

  const running = run();
  async function stop(): Promise<void> {
    stopping.abort();
    await running;
    // A rest that this replica began must not outlive it: with its successor may come another key.
    await leases.release(own).catch((error: unknown) => {
      logger.warn({ event: 'vault.rewrap_failed', error }, 'the lease of re-wrapping could not be given back');
    });
  }
  return { stop, [Symbol.asyncDispose]: stop };
}
