import { StoreUnavailableError } from '@postern/elicitation';
import { type ConfigChanges, configChanges, type NamedChanges } from './platform/config/config-changes.ts';
import { ConfigError, type ConfigFault } from './platform/config/config-error.ts';
import type { GatewayConfig } from './platform/config/config-schema.ts';
import type { Logger } from './platform/logger.ts';
import type { Metrics } from './platform/metrics/create-metrics.ts';
import { explanationOf, StartError } from './platform/start-error.ts';
import type { Stopping } from './platform/stopping.ts';

export type ReloadResult =
  | { readonly result: 'reloaded'; readonly sections: readonly string[]; readonly mcpServers: NamedChanges }
  | { readonly result: 'unchanged' }
  /** The running configuration stays. */
  | { readonly result: 'refused'; readonly faults: readonly ConfigFault[] }
  /** The process is about to stop. */
  | { readonly result: 'stopping' };

export interface Reloader {
  /** See `Gateway.reload`. */
  reload(load: () => GatewayConfig): Promise<ReloadResult>;
  /** Resolves when no reload is under way. */
  idle(): Promise<void>;
}

export interface ReloaderOptions<Prepared extends { close(): Promise<void> }> {
  readonly logger: Pick<Logger, 'info' | 'error' | 'debug'>;
  readonly metrics: Pick<Metrics, 'configReloaded'> | undefined;
  readonly stopping: Pick<Stopping, 'draining'>;
  readonly running: () => GatewayConfig;
  /** Builds everything that the configuration needs, beside what runs. Whatever can fail, fails here. */
  readonly prepare: (next: GatewayConfig) => Promise<Prepared>;
  /** Serves what was prepared from now on, in one turn of the event loop: no configuration is ever in force by half. */
  readonly commit: (next: Prepared, changes: ConfigChanges) => void;
}

/** Reloads one configuration at a time. A reload that waits for another one loads the file when its turn comes. */
export function createReloader<Prepared extends { close(): Promise<void> }>(p: ReloaderOptions<Prepared>): Reloader {
  const { logger, metrics, stopping } = p;
  let last: Promise<unknown> = Promise.resolve();
  /** Has not begun to load: later calls share it. */
  let waiting: Promise<ReloadResult> | undefined;

  async function apply(load: () => GatewayConfig): Promise<ReloadResult> {
    if (stopping.draining.aborted) return { result: 'stopping' };
    const config = load();
    const changes = configChanges(p.running(), config);
    if (changes.sections.length === 0) return { result: 'unchanged' };
    if (changes.needRestart.length > 0)
      return {
        result: 'refused',
        faults: changes.needRestart.map(path => ({
          path,
          message: 'has changed, and takes effect only after a restart',
        })),
      };
    const next = await p.prepare(config);
    if (stopping.draining.aborted) {
      await next.close();
      return { result: 'stopping' };
    }
    p.commit(next, changes);
    return { result: 'reloaded', sections: changes.sections, mcpServers: changes.mcpServers };
  }

  async function attempt(load: () => GatewayConfig): Promise<ReloadResult> {
    waiting = undefined;
    let reloaded: ReloadResult;
    try {
      reloaded = await apply(load);
    } catch (error) {
      const faults = faultsOf(error);
      if (faults === undefined) {
        // The message of an unexpected error may contain secrets; the logger knows how to write one.
        logger.error(
          { event: 'config.reload_failed', error },
          'configuration could not be reloaded; the running one stays',
        );
        metrics?.configReloaded('refused');
        throw error;
      }
      reloaded = { result: 'refused', faults };
    }
    report(reloaded);
    return reloaded;
  }

  function report(reloaded: ReloadResult): void {
    if (reloaded.result === 'stopping') return;
    metrics?.configReloaded(reloaded.result);
    const { result, ...fields } = reloaded;
    if (result === 'reloaded') logger.info({ event: 'config.reloaded', ...fields }, 'configuration reloaded');
    else if (result === 'refused')
      logger.error({ event: 'config.refused', ...fields }, 'configuration refused; the running one stays');
    else logger.debug({ event: 'config.unchanged' }, 'configuration unchanged');
  }

  return {
    reload(load) {
      if (waiting !== undefined) return waiting;
      const reloading = last.then(() => attempt(load));
      waiting = reloading;
      last = reloading.catch(() => undefined);
      return reloading;
    },
    async idle() {
      await last;
    },
  };
}

/** Faults that the operator can fix. Undefined for an unexpected error. */
function faultsOf(error: unknown): readonly ConfigFault[] | undefined {
  if (error instanceof ConfigError) return error.faults;
  const message =
    error instanceof StartError || error instanceof StoreUnavailableError ? explanationOf(error) : undefined;
  return message === undefined ? undefined : [{ path: '', message }];
}
