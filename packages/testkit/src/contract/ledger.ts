import { setTimeout as delay } from 'node:timers/promises';
import {
  type Elicitation,
  type ElicitationId,
  type ElicitationStore,
  StoreUnavailableError,
} from '@postern/elicitation';
import { ask, complete, engage, type Move, operation, somebody } from './samples.ts';

const WRITERS = 8;
const PAUSE_MS = 50;
const MOST_TRIES = 2_400;

/** Writes elicitations, records what the store has acknowledged, and verifies it later. */
export class Ledger {
  readonly #elicitations: ElicitationStore;
  readonly #versions: Map<ElicitationId, number>;

  /** Given the entries of another ledger, verifies those as well. */
  constructor(elicitations: ElicitationStore, entries: Iterable<readonly [ElicitationId, number]> = []) {
    this.#elicitations = elicitations;
    this.#versions = new Map(entries);
  }

  /** Each acknowledged elicitation with its last acknowledged version. */
  get entries(): readonly (readonly [ElicitationId, number])[] {
    return [...this.#versions];
  }

  /** Number of acknowledged elicitations. */
  get written(): number {
    return this.#versions.size;
  }

  /** Creates this number of elicitations, and completes every second one. */
  async write(count: number): Promise<void> {
    let left = count;
    await Promise.all(
      Array.from({ length: WRITERS }, async () => {
        for (; left > 0; ) {
          left -= 1;
          await this.#writeOne(left % 2 === 0);
        }
      }),
    );
  }

  /**
   * Writes continuously until `work` is done. `work` starts after the given number of acknowledgements. Refused steps are
   * repeated.
   */
  async writeDuring(work: () => Promise<void>, after = 0): Promise<void> {
    const begin = this.written + after;
    let isOver = false;
    const writers = Array.from({ length: WRITERS }, async () => {
      for (let count = 0; !isOver; count += 1) await this.#writeOne(count % 2 === 0);
    });
    try {
      while (this.written < begin) await delay(1);
      await work();
    } finally {
      isOver = true;
      await Promise.all(writers);
    }
  }

  /** Number of acknowledged elicitations that the store still has, in the acknowledged version or a later one. */
  async found(): Promise<number> {
    let found = 0;
    for (const [id, version] of this.#versions) {
      const kept = await patiently(() => this.#elicitations.read(id));
      if (kept !== undefined && kept.version >= version) found += 1;
    }
    return found;
  }

  async #writeOne(isCompleted: boolean): Promise<void> {
    const request = ask(somebody());
    const first = await patiently(() => this.#elicitations.create(request));
    if (first.result !== 'created') return;
    this.#note(first.elicitation);
    if (!isCompleted) return;
    const active = await this.#move(first.elicitation, engage);
    if (active !== undefined) await this.#move(active, complete(active));
  }

  /** Undefined if the store has lost the elicitation or an earlier transition of it. `found` counts that. */
  async #move(current: Elicitation, move: Move): Promise<Elicitation | undefined> {
    const request = { current, operationId: operation(), ...move };
    const outcome = await patiently(() => this.#elicitations.transition(request));
    if (outcome.result !== 'applied') return undefined;
    this.#note(outcome.elicitation);
    return outcome.elicitation;
  }

  #note({ elicitationId, version }: Elicitation): void {
    this.#versions.set(elicitationId, version);
  }
}

/** Repeats a step while the store is unavailable. Every step is idempotent. */
async function patiently<T>(step: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await step();
    } catch (error) {
      if (!(error instanceof StoreUnavailableError) || tries === MOST_TRIES) throw error;
      await delay(PAUSE_MS);
    }
  }
}
