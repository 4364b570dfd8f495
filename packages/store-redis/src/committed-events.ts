import type { Shard } from '@postern/elicitation';

/** Records the newest event per shard that this process knows to be committed. A Redis without that event was rolled back. */
export class CommittedEvents {
  readonly #newest = new Map<Shard, string>();

  /** @param id as returned by the script that committed it. Replies may arrive out of order. */
  note(shard: Shard, id: string): void {
    const known = this.#newest.get(shard);
    if (known === undefined || isLater(id, known)) this.#newest.set(shard, id);
  }

  snapshot(): ReadonlyMap<Shard, string> {
    return new Map(this.#newest);
  }

  /** Forgets this event, but keeps an event that was committed after the snapshot. */
  forget(shard: Shard, id: string | undefined): void {
    if (this.#newest.get(shard) === id) this.#newest.delete(shard);
  }
}

/** Returns the milliseconds of an event id, `<ms>-<count>`. */
export const timeOf = (id: string) => Number(id.slice(0, id.indexOf('-')));
const countOf = (id: string) => Number(id.slice(id.indexOf('-') + 1));

function isLater(one: string, other: string): boolean {
  return timeOf(one) > timeOf(other) || (timeOf(one) === timeOf(other) && countOf(one) > countOf(other));
}
