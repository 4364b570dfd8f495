/**
 * Counts places by their holder, against a limit for all holders together and a share for each. A holder that has used its share
 * leaves the other places to the others.
 */
export class Shares<Holder> {
  readonly #held = new Map<Holder, number>();
  readonly #total: number;
  #all = 0;

  constructor(total = Number.POSITIVE_INFINITY) {
    this.#total = total;
  }

  /** Places that are taken. */
  get all(): number {
    return this.#all;
  }

  /** Takes a place. Refused with `full` when all places are taken, with `share` when the holder has its share. */
  take(holder: Holder, share: number): Disposable | 'full' | 'share' {
    if (this.#all >= this.#total) return 'full';
    return (this.#held.get(holder) ?? 0) >= share ? 'share' : this.add(holder);
  }

  /** Takes a place whatever the limits. */
  add(holder: Holder): Disposable {
    this.#all += 1;
    this.#held.set(holder, (this.#held.get(holder) ?? 0) + 1);
    let isTaken = true;
    return {
      [Symbol.dispose]: () => {
        if (!isTaken) return;
        isTaken = false;
        this.#all -= 1;
        const left = (this.#held.get(holder) ?? 1) - 1;
        if (left === 0) this.#held.delete(holder);
        else this.#held.set(holder, left);
      },
    };
  }
}
