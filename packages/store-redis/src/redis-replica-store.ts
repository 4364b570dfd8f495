import { z } from 'zod';
import type { Keys } from './keys.ts';
import { decode, encode, text } from './records/record-layout.ts';
import type { RedisLink } from './redis-link.ts';
import { listOf, textOf, unknownResult } from './reply.ts';

/** What a replica says about itself. */
export interface ReplicaRecord {
  /** Host name and process id, as in the log. */
  readonly instance: string;
  readonly version: string;
  /** Epoch milliseconds. */
  readonly startedAt: number;
  readonly status: 'serving' | 'draining' | 'drained';
  /** Requests in flight, waiting reads and event streams included. */
  readonly requests: number;
}

export interface ListedReplica extends ReplicaRecord {
  readonly replicaId: string;
  readonly isOrderedToDrain: boolean;
}

const recordSchema = z.object({
  instance: text,
  version: text,
  startedAt: z.int(),
  status: z.enum(['serving', 'draining', 'drained']),
  requests: z.int(),
});

/** The replicas of a deployment, each for a limited time after its last announcement. All methods throw StoreUnavailableError. */
export class RedisReplicaStore {
  readonly #link: RedisLink;
  readonly #keys: Keys;

  constructor(link: RedisLink, keys: Keys) {
    this.#link = link;
    this.#keys = keys;
  }

  /** Returns whether an operator has ordered this replica to drain. */
  async announce(replicaId: string, record: ReplicaRecord, lifeMs: number): Promise<{ readonly mustDrain: boolean }> {
    const values = [this.#link.clock(), replicaId, encode({ ...record }), lifeMs];
    const reply = await this.#link.run('announceReplica', [this.#keys.replicas], values, { repeatable: true });
    const [result, drains] = listOf(reply).map(textOf);
    if (result !== 'announced') throw unknownResult();
    return { mustDrain: drains === '1' };
  }

  /** @param p.evenLast also the last replica that was not ordered to drain */
  async drain(
    replicaId: string,
    p: { readonly evenLast: boolean },
  ): Promise<'ordered' | 'already' | 'last' | 'unknown'> {
    const values = [this.#link.clock(), replicaId, p.evenLast ? '1' : '0'];
    const [reply] = listOf(
      await this.#link.run('drainReplica', [this.#keys.replicas], values, { repeatable: true }),
    ).map(textOf);
    if (reply !== 'ordered' && reply !== 'already' && reply !== 'last' && reply !== 'unknown') throw unknownResult();
    return reply;
  }

  /** Oldest first. */
  async list(): Promise<readonly ListedReplica[]> {
    return (await this.#read()).map(({ remainingMs: _, ...replica }) => replica);
  }

  /** Returns how long the last announcement of a replica still lasts, in milliseconds: 0 if it has ended, or there was none. */
  async remainingMs(replicaId: string): Promise<number> {
    return (await this.#read()).find(replica => replica.replicaId === replicaId)?.remainingMs ?? 0;
  }

  async #read(): Promise<readonly (ListedReplica & { readonly remainingMs: number })[]> {
    const reply = await this.#link.run('readReplicas', [this.#keys.replicas], [this.#link.clock()], {
      repeatable: true,
    });
    const flat = listOf(reply).map(textOf);
    return Array.from({ length: flat.length / 4 }, (_, at) => {
      const [replicaId = '', drains, remainingMs, record = ''] = flat.slice(at * 4, at * 4 + 4);
      const is = { replicaId, isOrderedToDrain: drains === '1', remainingMs: Number(remainingMs) };
      return { ...is, ...decode(recordSchema, record) };
    }).sort((a, b) => a.startedAt - b.startedAt || (a.replicaId < b.replicaId ? -1 : 1));
  }

  /** Removes a replica that stops. */
  async withdraw(replicaId: string): Promise<void> {
    await this.#link.call('hdel', this.#keys.replicas, replicaId);
  }
}
