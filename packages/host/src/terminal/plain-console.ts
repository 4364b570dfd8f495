import { createInterface, type Interface } from 'node:readline/promises';
import type { Readable, Writable } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';

/**
 * Lines in and out. The terminal's own line editing is used: nothing moves the cursor, so that screen readers, logs and pipes
 * read what a person sees, and no history keeps what was typed.
 */
export class PlainConsole {
  readonly #lines: Interface;
  readonly #output: Writable;
  readonly #ended = new AbortController();
  #queue: Promise<unknown> = Promise.resolve();

  constructor({ input, output }: { readonly input: Readable; readonly output: Writable }) {
    this.#output = output;
    this.#lines = createInterface({ input, output, terminal: false });
    this.#lines.once('close', () => this.#ended.abort());
  }

  /** Aborts when the input has ended: nobody can answer any more. */
  get ended(): AbortSignal {
    return this.#ended.signal;
  }

  tell(...lines: readonly string[]): void {
    for (const line of lines) this.#output.write(`${line}\n`);
  }

  /**
   * One answer, trimmed; undefined when `signal` aborts or the input has ended. Lines that come while nothing is asked are
   * dropped on purpose: neither typing ahead nor a paste of several lines may say yes to what nobody has seen.
   */
  async ask(question: string, signal: AbortSignal): Promise<string | undefined> {
    const stop = AbortSignal.any([signal, this.#ended.signal]);
    if (stop.aborted) return undefined;
    try {
      const answer = await this.#lines.question(question, { signal: stop });
      return stripVTControlCharacters(answer)
        .replace(/\p{Cc}/gu, '')
        .trim();
    } catch (error) {
      if (!stop.aborted) throw error;
      // The cursor stands behind a question that nobody will answer.
      this.tell('');
      return undefined;
    }
  }

  /** Runs one dialogue at a time: questions of two elicitations must not mix. */
  async exclusively<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#queue.then(work);
    this.#queue = turn.catch(() => undefined);
    return await turn;
  }

  close(): void {
    this.#lines.close();
  }
}
