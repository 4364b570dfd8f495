/** Prints one line per step: a mark, the title, the duration. */
export class Report {
  readonly #write: (text: string) => void;
  #steps = 0;

  constructor(write: (text: string) => void) {
    this.#write = write;
  }

  get steps(): number {
    return this.#steps;
  }

  /** Prints the title of the next chapter, or another paragraph. */
  tell(text: string): void {
    this.#write(`\n${text}\n`);
  }

  /** Runs one step. Prints a failing step and rethrows its error, which ends the story. */
  async step<T>(title: string, run: () => Promise<T>): Promise<T> {
    const began = performance.now();
    try {
      const result = await run();
      this.#steps += 1;
      this.#write(`  ✓ ${title.padEnd(94)} ${elapsed(began)}\n`);
      return result;
    } catch (error) {
      this.#write(`  ✗ ${title.padEnd(94)} ${elapsed(began)}\n`);
      throw error;
    }
  }
}

function elapsed(began: number): string {
  return `${((performance.now() - began) / 1000).toFixed(1).padStart(5)} s`;
}

/** Thrown by a failed check. The message is printed and contains no secrets. */
export class StoryError extends Error {
  override name = 'StoryError';
}

export function check(condition: boolean, otherwise: string): asserts condition {
  if (!condition) throw new StoryError(otherwise);
}

export function checkEqual<T>(actual: T, expected: T, what: string): void {
  if (actual !== expected)
    throw new StoryError(`${what}: expected ${JSON.stringify(expected)}, got ${JSON.stringify(actual)}`);
}

/** @throws {StoryError} when the promise takes longer than `ms` */
export async function within<T>(ms: number, what: string, promise: Promise<T>): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new StoryError(`${what}: timed out after ${ms / 1000} s`)), ms);
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
