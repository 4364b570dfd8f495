/** Counts what the process does for anyone. After its end nothing begins any more, so nothing is lost with the process. */
export class WorkInProgress {
  readonly #now: () => number;
  #lastAt: number;
  #begun = 0;
  #count = 0;
  #isEnded = false;

  constructor(now: () => number) {
    this.#now = now;
    this.#lastAt = now();
  }

  /** Epoch milliseconds of the last begin or end of anything. */
  get lastAt(): number {
    return this.#lastAt;
  }

  /** How much has begun so far. */
  get begun(): number {
    return this.#begun;
  }

  get isEmpty(): boolean {
    return this.#count === 0;
  }

  /** Until disposed of, something is in progress. Undefined after the end: it must not be done. */
  begin(): Disposable | undefined {
    if (this.#isEnded) return undefined;
    this.#lastAt = this.#now();
    this.#begun += 1;
    this.#count += 1;
    let isOver = false;
    return {
      [Symbol.dispose]: () => {
        if (isOver) return;
        isOver = true;
        this.#count -= 1;
        this.#lastAt = this.#now();
      },
    };
  }

  /** Begins a request, which is over with its response. False after the end. */
  admit(response: { once(event: 'close', listener: () => void): unknown }): boolean {
    const request = this.begin();
    if (request === undefined) return false;
    response.once('close', () => request[Symbol.dispose]());
    return true;
  }

  end(): void {
    this.#isEnded = true;
  }
}
