import { type ListedReplica, oldestFirst, type ReplicaRecord, type ReplicaStore } from '@postern/elicitation';
import { z } from 'zod';
import { decode, encode, text } from './record-layout.ts';
import { RedisPort } from './redis-link.ts';
import { listOf, textOf, unknownResult } from './script.ts';

const recordSchema = z.object({
  instance: text,
  version: text,
  startedAt: z.int(),
  status: z.enum(['serving', 'draining', 'drained']),
  requests: z.int(),
});

/** One hash, which the scripts keep free of replicas that have ended. */
export class RedisReplicaStore extends RedisPort implements ReplicaStore {
  async announce(replicaId: string, record: ReplicaRecord, lifeMs: number): Promise<{ readonly mustDrain: boolean }> {
    const reply = await this.repeatable(
      'announceReplica',
      { replicas: this.keys.replicas },
      { replicaId, record: encode({ ...record }), lifetimeMs: lifeMs },
    );
    const [result, drains] = listOf(reply).map(textOf);
    if (result !== 'announced') throw unknownResult();
    return { mustDrain: drains === '1' };
  }

  async drain(replicaId: string, p: { readonly evenLast: boolean }) {
    const keys = { replicas: this.keys.replicas };
    const found = await this.repeatable('drainReplica', keys, { replicaId, evenLast: p.evenLast });
    const [reply] = listOf(found).map(textOf);
    if (reply !== 'ordered' && reply !== 'already' && reply !== 'last' && reply !== 'unknown') throw unknownResult();
    return reply;
  }

  async list(): Promise<readonly ListedReplica[]> {
    return (await this.#read()).map(({ remainingMs: _, ...replica }) => replica);
  }

  async remainingMs(replicaId: string): Promise<number> {
    return (await this.#read()).find(replica => replica.replicaId === replicaId)?.remainingMs ?? 0;
  }

  async #read(): Promise<readonly (ListedReplica & { readonly remainingMs: number })[]> {
    const reply = await this.repeatable('readReplicas', { replicas: this.keys.replicas }, {});
    const flat = listOf(reply).map(textOf);
    return Array.from({ length: flat.length / 4 }, (_, at) => {
      const [replicaId = '', drains, remainingMs, record = ''] = flat.slice(at * 4, at * 4 + 4);
      const is = { replicaId, isOrderedToDrain: drains === '1', remainingMs: Number(remainingMs) };
      return { ...is, ...decode(recordSchema, record) };
    }).sort(oldestFirst(({ replicaId: id, startedAt: at }) => ({ id, at })));
  }

  async withdraw(replicaId: string): Promise<void> {
    await this.link.call('hdel', this.keys.replicas, replicaId);
  }
}
