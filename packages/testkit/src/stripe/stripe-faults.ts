export type StripeRequestKind = 'create' | 'retrieve' | 'expire';

/** Trouble that meets requests of one kind. */
export interface StripeFault {
  readonly kind: StripeRequestKind;
  /** The first request of the kind that it meets, counted from now. Default 1. */
  readonly nth?: number;
  /** How many requests it meets from then on. Default 1. */
  readonly times?: number;
  readonly does: /** The connection breaks off before the request has an effect, or after. */
    | { readonly loseAnswer: 'before' | 'after' }
    /**
     * Answers with this status. `isStored`: the request had been begun, so that its key answers the same from now on.
     */
    | { readonly status: number; readonly code?: string; readonly isStored?: boolean }
    /** Answers with this body and status 200, as something between Stripe and us might. */
    | { readonly body: string }
    /** Waits, with the key taken and before the effect or after it, until it is released. */
    | { readonly hold: Promise<void>; readonly when: 'before' | 'after'; readonly reached: () => void };
}

/** The faults that are still to happen. */
export class StripeFaults {
  readonly #faults: { readonly fault: StripeFault; wait: number; left: number }[] = [];

  add(fault: StripeFault): void {
    this.#faults.push({ fault, wait: (fault.nth ?? 1) - 1, left: fault.times ?? 1 });
  }

  clear(): void {
    this.#faults.length = 0;
  }

  /** The fault that meets this request, if any. Every request of the kind is counted by every fault. */
  take(kind: StripeRequestKind): StripeFault['does'] | undefined {
    let taken: StripeFault['does'] | undefined;
    for (const entry of this.#faults) {
      if (entry.fault.kind !== kind || entry.left === 0) continue;
      if (entry.wait > 0) {
        entry.wait -= 1;
      } else if (taken === undefined) {
        entry.left -= 1;
        taken = entry.fault.does;
      }
    }
    return taken;
  }
}
