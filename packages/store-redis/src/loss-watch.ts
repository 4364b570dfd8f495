import { newOperationId, SHARDS, type Shard, systemEntropy } from '@postern/elicitation';
import type { InspectedShard, RedisEpochs } from './redis-epochs.ts';
import { RedisFault, storeErrorOf } from './redis-fault.ts';
import { type CommittedEvents, type StoreGuard, timeOf } from './redis-link.ts';

/** Acknowledged events are missing although their shards still exist: Redis returned to an earlier state. */
export interface RolledBack {
  readonly shards: readonly Shard[];
  /** Upper bound of the lost period in ms: from the newest remaining event to the newest acknowledged one. */
  readonly backMs: number;
}

export interface LossReports {
  /** Called at the start. `isNew` if this process created the deployment, because Redis had none. */
  readonly onDeployment?: (p: { readonly deployment: string; readonly isNew: boolean }) => void;
  /** Called once per change; with undefined when no shard has lost data any more. */
  readonly onLoss?: (loss: DataLoss | undefined) => void;
  /** Called when an operator has accepted a loss, with the number of shards that have a new epoch. */
  readonly onAccepted?: (p: { readonly deployment: string; readonly shards: number }) => void;
  readonly onRolledBack?: (found: RolledBack) => void;
}

export interface LossWatchOptions extends LossReports {
  /** The deployment that Redis must contain. Default: the deployment found at the start, or a new one. */
  readonly deployment?: string | undefined;
}

interface LossWatchParts {
  readonly epochs: RedisEpochs;
  readonly committed: CommittedEvents;
  readonly guard: StoreGuard;
  readonly intervalMs: number;
}

/** Any client can call the readiness endpoint, so a check reuses a result up to this age, in ms. */
const RECENT_MS = 1_000;
/** Delay before the next check if some shards did not answer. */
const RETRY_MS = 1_000;

/**
 * Detects a Redis that is empty, foreign, partly lost or rolled back. While data is lost, the guard refuses every command. The
 * first check that finds every shard intact lifts it, so `postern redis accept-loss` needs no restart.
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

  /** Checks for the first time, then starts the timer. @throws StoreUnavailableError */
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

  /** Holds all commands until a check is done, because the connection may lead to another process. */
  suspect(): void {
    const { guard } = this.#parts;
    const looked = this.look().finally(() => {
      if (guard.held === looked) guard.held = undefined;
    });
    guard.held = looked;
  }

  /** Never rejects. A running check may already have passed the shard in question, so callers join the next one. */
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
    // Snapshot before sending: the replies may miss events that are committed meanwhile.
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
    // Shards that did not answer may have lost their data.
    if (!isComplete || this.#loss === undefined) return;
    this.#note(undefined);
    if (accepted > 0 && this.#deployment !== undefined)
      this.#options.onAccepted?.({ deployment: this.#deployment, shards: accepted });
  }

  /** @returns the number of shards whose epoch differs from the remembered one */
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

/**
 * Whether no shard has an epoch, or a gateway died while writing the first epochs. A pinned deployment is never founded again.
 */
function isUnfounded(found: ReadonlyMap<Shard, InspectedShard>, pinned: string | undefined): boolean {
  const [first, ...others] = SHARDS.map(shard => found.get(shard)?.epoch);
  if (first?.isFounding !== true) return pinned === undefined && [first, ...others].every(each => each === undefined);
  if (pinned !== undefined && pinned !== first.deployment) return false;
  return others.every(each => each === undefined || each.deployment === first.deployment);
}

const dataLost = () => storeErrorOf(new RedisFault('refused', 'data_lost'));

/** Shards with lost or foreign data. At least one list is not empty. */
export interface DataLoss {
  /** The expected deployment; undefined if unknown. */
  readonly deployment: string | undefined;
  /** Shards without an epoch: an empty Redis, or a Cluster node that has lost its slots. */
  readonly missing: readonly Shard[];
  /** Shards of other deployments. */
  readonly foreign: readonly Shard[];
  /** Shards with an epoch before the known one: Redis was restored to a time before an accepted loss. */
  readonly older: readonly Shard[];
  /** The other deployments that were found. */
  readonly strangers: readonly string[];
}

/**
 * Compares the found epochs with the known ones. If no deployment is known, a single found deployment becomes the known one.
 * @param found the shards that answered
 * @internal exported for tests
 */
export function dataLossIn(
  found: ReadonlyMap<Shard, Pick<InspectedShard, 'epoch'>>,
  known: { readonly deployment: string | undefined; readonly epochs: ReadonlyMap<Shard, number> },
): DataLoss | undefined {
  const deployments = new Set([...found.values()].flatMap(({ epoch }) => epoch?.deployment ?? []));
  const deployment = known.deployment ?? (deployments.size === 1 ? [...deployments][0] : undefined);
  const missing: Shard[] = [];
  const foreign: Shard[] = [];
  const older: Shard[] = [];
  for (const [shard, { epoch }] of found) {
    if (epoch === undefined) missing.push(shard);
    else if (epoch.deployment !== deployment) foreign.push(shard);
    else if (epoch.epoch < (known.epochs.get(shard) ?? 0)) older.push(shard);
  }
  if (missing.length + foreign.length + older.length === 0) return undefined;
  const strangers = [...deployments].filter(each => each !== deployment);
  return { deployment, missing, foreign, older, strangers };
}
