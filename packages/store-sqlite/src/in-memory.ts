import {
  type Clock,
  type LeaseStore,
  type ListedReplica,
  oldestFirst,
  type ReplicaRecord,
  type ReplicaStore,
} from '@postern/elicitation';
import { isRunning, type Span } from './records.ts';

/** What ends with the one process that has the file is not written to it. */
export class LeasesInMemory implements LeaseStore {
  readonly #now: Clock;
  readonly #leases = new Map<string, Span & { readonly holder: string }>();

  constructor(now: Clock) {
    this.#now = now;
  }

  async take({ name, holder, leaseMs }: Parameters<LeaseStore['take']>[0]): Promise<boolean> {
    const [lease, now] = [this.#leases.get(name), this.#now()];
    if (isRunning(lease, now) && lease?.holder !== holder) return false;
    this.#leases.set(name, { holder, from: now, endsAt: now + leaseMs });
    return true;
  }

  async release({ name, holder }: Parameters<LeaseStore['release']>[0]): Promise<void> {
    if (this.#leases.get(name)?.holder === holder) this.#leases.delete(name);
  }
}

export class ReplicasInMemory implements ReplicaStore {
  readonly #now: Clock;
  readonly #replicas = new Map<string, ListedReplica & { readonly endsAt: number }>();

  constructor(now: Clock) {
    this.#now = now;
  }

  async announce(replicaId: string, record: ReplicaRecord, lifeMs: number): Promise<{ readonly mustDrain: boolean }> {
    const isOrderedToDrain = this.#get(replicaId)?.isOrderedToDrain ?? false;
    this.#replicas.set(replicaId, { replicaId, isOrderedToDrain, ...record, endsAt: this.#now() + lifeMs });
    return { mustDrain: isOrderedToDrain };
  }

  async drain(replicaId: string, { evenLast }: { readonly evenLast: boolean }) {
    const own = this.#get(replicaId);
    if (own === undefined) return 'unknown';
    if (own.isOrderedToDrain) return 'already';
    const staying = this.#living().filter(replica => !replica.isOrderedToDrain);
    if (staying.length === 1 && !evenLast) return 'last';
    this.#replicas.set(replicaId, { ...own, isOrderedToDrain: true });
    return 'ordered';
  }

  async list(): Promise<readonly ListedReplica[]> {
    const living = this.#living().map(({ endsAt: _, ...replica }) => replica);
    return living.sort(oldestFirst(({ replicaId: id, startedAt: at }) => ({ id, at })));
  }

  async remainingMs(replicaId: string): Promise<number> {
    return (this.#get(replicaId)?.endsAt ?? this.#now()) - this.#now();
  }

  async withdraw(replicaId: string): Promise<void> {
    this.#replicas.delete(replicaId);
  }

  #living() {
    return [...this.#replicas.values()].filter(({ endsAt }) => endsAt > this.#now());
  }

  #get(replicaId: string) {
    return this.#living().find(replica => replica.replicaId === replicaId);
  }
}
