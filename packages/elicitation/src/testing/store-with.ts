import type { ElicitationStore } from '../elicitation-store.ts';

/** Returns the store with some of its verbs replaced. */
export function storeWith(inner: ElicitationStore, change: Partial<ElicitationStore>): ElicitationStore {
  return {
    create: request => inner.create(request),
    read: id => inner.read(id),
    transition: request => inner.transition(request),
    redeem: request => inner.redeem(request),
    due: (shard, limit) => inner.due(shard, limit),
    postpone: (id, delayMs) => inner.postpone(id, delayMs),
    listOpen: (subject, mcpServerIds) => inner.listOpen(subject, mcpServerIds),
    listEnded: (subject, voucher) => inner.listEnded(subject, voucher),
    ...change,
  };
}
