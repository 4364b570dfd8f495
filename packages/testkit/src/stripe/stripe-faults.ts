export type StripeRequestKind = 'create' | 'retrieve' | 'expire' | 'list' | 'refund' | 'refunds' | 'disputes';

/** A fault in the response to requests of one kind. */
export interface StripeFault {
  readonly kind: StripeRequestKind;
  /** First affected request of the kind, counted from now. Default 1. */
  readonly nth?: number;
  /** Number of affected requests. Default 1. */
  readonly times?: number;
  readonly does: /** The connection breaks off before the request has an effect, or after. */
    | { readonly loseAnswer: 'before' | 'after' }
    /** Responds with this status. `isStored`: the request had begun, so its key repeats this response from now on. */
    | { readonly status: number; readonly code?: string; readonly isStored?: boolean }
    /** Responds with this body and status 200, like a broken proxy. */
    | { readonly body: string }
    /** Holds the request, with its key taken, before or after the effect, until it is released. */
    | { readonly hold: Promise<void>; readonly when: 'before' | 'after'; readonly reached: () => void };
}

/** The pending faults. */
export class StripeFaults {
  readonly #faults: { readonly fault: StripeFault; wait: number; left: number }[] = [];

  add(fault: StripeFault): void {
    this.#faults.push({ fault, wait: (fault.nth ?? 1) - 1, left: fault.times ?? 1 });
  }

  clear(): void {
    this.#faults.length = 0;
  }

  /** Returns the fault that affects this request, if any. Every fault counts every request of its kind. */
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
