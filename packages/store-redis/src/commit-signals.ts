import { parseElicitationId, type Shard, shardIn } from '@postern/elicitation';

type Listener = (shard: Shard | undefined) => void;

/** Tells where something was committed, in whatever process: every commit wakes those who wait for its elicitation. */
export class CommitSignals {
  readonly #listeners = new Set<Listener>();

  listen(listener: Listener): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }

  /** @param message a wake-up, of whatever it is. */
  note(message: string): void {
    if (this.#listeners.size === 0) return;
    const elicitationId = parseElicitationId(message);
    if (elicitationId !== undefined) this.#tell(shardIn(elicitationId));
  }

  /** Wake-ups may have been lost. */
  missed(): void {
    this.#tell(undefined);
  }

  #tell(shard: Shard | undefined): void {
    for (const listener of this.#listeners) listener(shard);
  }
}
