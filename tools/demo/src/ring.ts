/** Keeps the newest items, up to a limit, and counts all. */
export class Ring<Item> {
  readonly #limit: number;
  readonly #items: Item[] = [];
  #total = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  push(...items: readonly Item[]): void {
    for (const item of items) {
      this.#items.push(item);
      if (this.#items.length > this.#limit) this.#items.shift();
    }
    this.#total += items.length;
  }

  get items(): readonly Item[] {
    return this.#items;
  }

  /** Number of items pushed so far, dropped ones included: it grows with every item, while the number of items stops growing. */
  get total(): number {
    return this.#total;
  }
}
