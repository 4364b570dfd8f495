/** Timeouts in a row after which the circuit opens. */
const TIMEOUTS = 5;
/** Time until the next probe after the circuit opens or a probe times out, in ms. */
const PAUSE_MS = 10_000;

/** A request that the circuit admits. The caller calls exactly one of the two when it ends. */
export interface Passage {
  /** The upstream responded with any status, or the request failed quickly. */
  answered(): void;
  timedOut(): void;
}

/**
 * A circuit breaker. Stops requests to an upstream after several timeouts in a row. After a pause a single request probes, and its
 * result decides. Quick errors do not open the circuit, because they delay no caller.
 */
export class Circuit {
  readonly #now: () => number;
  readonly #onChange: (isOpen: boolean) => void;
  #timeouts = 0;
  #openedAt: number | undefined;
  #probe: Passage | undefined;

  constructor(p: { now: () => number; onChange: (isOpen: boolean) => void }) {
    this.#now = p.now;
    this.#onChange = p.onChange;
  }

  get isOpen(): boolean {
    return this.#openedAt !== undefined;
  }

  /** Remaining pause in ms, at least 1; 0 if a request would be admitted. */
  get pausedMs(): number {
    if (this.#openedAt === undefined) return 0;
    const passed = this.#now() - this.#openedAt;
    // A clock that was set back must not keep the circuit open.
    const left = passed < 0 ? 0 : PAUSE_MS - passed;
    return left > 0 ? left : this.#probe === undefined ? 0 : 1;
  }

  /** @param isUrgent admits the request in any case @returns undefined when the circuit stops the request */
  pass({ isUrgent }: { readonly isUrgent: boolean }): Passage | undefined {
    const isStopped = this.pausedMs > 0;
    if (isStopped && !isUrgent) return undefined;
    const passage: Passage = {
      answered: () => this.#answered(),
      timedOut: () => this.#timedOut(passage),
    };
    if (this.#openedAt !== undefined && !isStopped) this.#probe = passage;
    return passage;
  }

  #answered(): void {
    this.#timeouts = 0;
    if (this.#openedAt === undefined) return;
    this.#openedAt = undefined;
    this.#probe = undefined;
    this.#onChange(false);
  }

  #timedOut(passage: Passage): void {
    if (this.#openedAt === undefined) {
      this.#timeouts += 1;
      if (this.#timeouts < TIMEOUTS) return;
      this.#openedAt = this.#now();
      this.#onChange(true);
    } else if (passage === this.#probe) {
      this.#probe = undefined;
      this.#openedAt = this.#now();
    }
  }
}
