import { createInterface, type Interface } from 'node:readline/promises';
import type { Readable, Writable } from 'node:stream';
import { withoutEscapes } from '@postern/api';

/**
 * Reads and writes lines with the terminal's own line editing. It never moves the cursor, so screen readers, logs and pipes
 * get the same text as the user, and it keeps no history of the input.
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

  /** Aborts when the input has ended, so no answer can follow. */
  get ended(): AbortSignal {
    return this.#ended.signal;
  }

  tell(...lines: readonly string[]): void {
    for (const line of lines) this.#output.write(`${line}\n`);
  }

  /**
   * Returns one answer, trimmed, or undefined when `signal` aborts or the input has ended. Drops lines that arrive between
   * questions on purpose: neither typing ahead nor a paste of several lines may approve a question before it is shown.
   */
  async ask(question: string, signal: AbortSignal): Promise<string | undefined> {
    const stop = AbortSignal.any([signal, this.#ended.signal]);
    if (stop.aborted) return undefined;
    try {
      const answer = await this.#lines.question(question, { signal: stop });
      return withoutEscapes(answer)
        .replace(/\p{Cc}/gu, '')
        .trim();
    } catch (error) {
      if (!stop.aborted) throw error;
      // The cursor is still on the line of the abandoned question.
      this.tell('');
      return undefined;
    }
  }

  /** Runs one dialogue at a time, so prompts of two elicitations never mix. */
  async exclusively<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#queue.then(work);
    this.#queue = turn.catch(() => undefined);
    return await turn;
  }

  close(): void {
    this.#lines.close();
  }
}
