import { newOperationId, SHARDS, type Shard, StoreUnavailableError, systemEntropy } from '@postern/elicitation';
import { type CommittedEvents, timeOf } from './committed-events.ts';
import { type DataLoss, dataLossIn } from './data-loss.ts';
import type { InspectedShard, RedisEpochs } from './redis-epochs.ts';
import { RedisFault, storeErrorOf } from './redis-fault.ts';
import type { StoreGuard } from './store-guard.ts';

/** Acknowledged events are gone though their shards are still there: Redis went back to an earlier state. */
export interface RolledBack {
  readonly shards: readonly Shard[];
  /** From the newest event that is still there to the newest that was acknowledged: the upper bound of what was lost, in ms. */
  readonly backMs: number;
}

export interface LossReports {
  /** At the start. `isNew` where this process has begun the deployment, because Redis knew none. */
  readonly onDeployment?: (p: { readonly deployment: string; readonly isNew: boolean }) => void;
  /** Once per change; undefined when all shards are sound again. */
  readonly onLoss?: (loss: DataLoss | undefined) => void;
  /** An operator has accepted a loss; so many shards have a new epoch. */
  readonly onAccepted?: (p: { readonly deployment: string; readonly shards: number }) => void;
  readonly onRolledBack?: (found: RolledBack) => void;
}

export interface LossWatchOptions extends LossReports {
  /** The deployment that Redis must have. Default: the one it has at the start, or a new one where it has none. */
  readonly deployment?: string | undefined;
}

interface LossWatchParts {
  readonly epochs: RedisEpochs;
  readonly committed: CommittedEvents;
  readonly guard: StoreGuard;
  readonly intervalMs: number;
}

/** Anybody may ask whether the gateway is ready: a look that is this recent still counts, in ms. */
const RECENT_MS = 1_000;
/** Until shards that did not answer are looked at again. */
const RETRY_MS = 1_000;

/**
 * Notices a Redis that is empty, another one, partly lost or set back. While data is lost the guard refuses every command; it is
 * lifted by the next look that finds every shard sound, so after `postern redis accept-loss` without a restart.
 */
export class LossWatch implements Disposable {
  readonly #parts: LossWatchParts;
  readonly #options: LossWatchOptions;
  readonly #epochs = new Map<Shard, number>();
  #deployment: string | undefined;
  #loss: DataLoss | undefined;
  #current: Promise<void> | undefined;
  #next: Promise<void> | undefined;
  #lookedAt = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;
  #retry: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(parts: LossWatchParts, options: LossWatchOptions) {
    this.#parts = parts;
    this.#options = options;
    this.#deployment = options.deployment;
  }

  /** Looks for the first time, and from now on by itself too. @throws StoreUnavailableError */
  async start(): Promise<void> {
    const found = await this.#parts.epochs.inspect();
    if (found.size < SHARDS.length) throw storeErrorOf(new RedisFault('refused', 'no_master'));
    const proposed = { deployment: `dp_${newOperationId(systemEntropy)}`, epoch: Date.now() };
    const begun = isUnfounded(found, this.#deployment) ? await this.#parts.epochs.found(proposed) : undefined;
    if (begun === undefined) this.#apply(found, new Map());
    else await this.look();
    if (this.#loss === undefined && this.#deployment !== undefined) {
      const isNew = begun?.deployment === proposed.deployment;
      this.#options.onDeployment?.({ deployment: this.#deployment, isNew });
    }
    this.#timer = setInterval(() => void this.look(), this.#parts.intervalMs);
    this.#timer.unref();
  }

  /** @throws StoreUnavailableError that `isDataLost` */
  async check(): Promise<void> {
    if (performance.now() - this.#lookedAt > RECENT_MS) await this.look();
    if (this.#loss !== undefined) throw dataLost();
  }

  /** The connection may lead to another process: no command is sent before a look. */
  suspect(): void {
    const { guard } = this.#parts;
    const looked = this.look().finally(() => {
      if (guard.held === looked) guard.held = undefined;
    });
    guard.held = looked;
  }

  /** Never rejects. A look that has begun may have passed what the caller wants to know, so the caller gets the next one. */
  look(): Promise<void> {
    if (this.#current === undefined) return this.#begin();
    this.#next ??= this.#current.then(() => {
      this.#next = undefined;
      return this.#begin();
    });
    return this.#next;
  }

  [Symbol.dispose](): void {
    this.#isClosed = true;
    clearInterval(this.#timer);
    clearTimeout(this.#retry);
  }

  #begin(): Promise<void> {
    const look = this.#look().finally(() => {
      if (this.#current === look) this.#current = undefined;
    });
    this.#current = look;
    return look;
  }

  async #look(): Promise<void> {
    // Before the commands leave: what is committed meanwhile may be missing in their answers.
    const committed = this.#parts.committed.snapshot();
    const found = await this.#parts.epochs.inspect(committed);
    if (!this.#isClosed) this.#apply(found, committed);
  }

  #apply(found: ReadonlyMap<Shard, InspectedShard>, committed: ReadonlyMap<Shard, string>): void {
    const isComplete = found.size === SHARDS.length;
    if (isComplete) this.#lookedAt = performance.now();
    else this.#lookAgain();
    const loss = dataLossIn(found, { deployment: this.#deployment, epochs: this.#epochs });
    if (loss !== undefined) {
      this.#note(loss);
      return;
    }
    const accepted = this.#learn(found, committed);
    // Shards that did not answer may be the lost ones.
    if (!isComplete || this.#loss === undefined) return;
    this.#note(undefined);
    if (accepted > 0 && this.#deployment !== undefined)
      this.#options.onAccepted?.({ deployment: this.#deployment, shards: accepted });
  }

  /** @returns how many shards have another epoch than the remembered one */
  #learn(found: ReadonlyMap<Shard, InspectedShard>, committed: ReadonlyMap<Shard, string>): number {
    let changed = 0;
    const shards: Shard[] = [];
    let backMs = 0;
    for (const [shard, { epoch, lostAfter }] of found) {
      if (epoch === undefined) continue;
      this.#deployment = epoch.deployment;
      const isChanged = this.#epochs.get(shard) !== epoch.epoch;
      const event = committed.get(shard);
      if (isChanged || lostAfter !== undefined) this.#parts.committed.forget(shard, event);
      this.#epochs.set(shard, epoch.epoch);
      if (isChanged) changed += 1;
      else if (event !== undefined && lostAfter !== undefined) {
        shards.push(shard);
        backMs = Math.max(backMs, timeOf(event) - (lostAfter === '' ? epoch.epoch : timeOf(lostAfter)));
      }
    }
    if (shards.length > 0) this.#options.onRolledBack?.({ shards, backMs });
    return changed;
  }

  #note(loss: DataLoss | undefined): void {
    const isNews = JSON.stringify(loss) !== JSON.stringify(this.#loss);
    this.#loss = loss;
    this.#parts.guard.isLost = loss !== undefined;
    if (isNews) this.#options.onLoss?.(loss);
  }

  #lookAgain(): void {
    clearTimeout(this.#retry);
    this.#retry = setTimeout(() => void this.look(), RETRY_MS);
    this.#retry.unref();
  }
}

/** Whether no shard has an epoch, or a gateway died while it gave them their first. A pinned deployment is never begun anew. */
function isUnfounded(found: ReadonlyMap<Shard, InspectedShard>, pinned: string | undefined): boolean {
  const [first, ...others] = SHARDS.map(shard => found.get(shard)?.epoch);
  if (first?.isFounding !== true) return pinned === undefined && [first, ...others].every(each => each === undefined);
  if (pinned !== undefined && pinned !== first.deployment) return false;
  return others.every(each => each === undefined || each.deployment === first.deployment);
}

export const dataLost = () => storeErrorOf(new RedisFault('refused', 'data_lost'));

/** Whether the store refuses because Redis has lost data or is another Redis. */
export function isDataLost(error: unknown): boolean {
  return (
    error instanceof StoreUnavailableError && error.cause instanceof RedisFault && error.cause.code === 'data_lost'
  );
}
