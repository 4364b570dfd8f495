import type { Shard } from '@postern/elicitation';

/** Per shard, the newest event that this process knows to be committed: a Redis that has lost it was set back. */
export class CommittedEvents {
  readonly #newest = new Map<Shard, string>();

  /** @param id as returned by the script that committed it. Answers may overtake each other. */
  note(shard: Shard, id: string): void {
    const known = this.#newest.get(shard);
    if (known === undefined || isLater(id, known)) this.#newest.set(shard, id);
  }

  snapshot(): ReadonlyMap<Shard, string> {
    return new Map(this.#newest);
  }

  /** Forgets this event, but not one that was committed after the snapshot. */
  forget(shard: Shard, id: string | undefined): void {
    if (this.#newest.get(shard) === id) this.#newest.delete(shard);
  }
}

/** Of an event id, `<ms>-<count>`. */
export const timeOf = (id: string) => Number(id.slice(0, id.indexOf('-')));
const countOf = (id: string) => Number(id.slice(id.indexOf('-') + 1));

function isLater(one: string, other: string): boolean {
  return timeOf(one) > timeOf(other) || (timeOf(one) === timeOf(other) && countOf(one) > countOf(other));
}
