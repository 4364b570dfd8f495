import { PassThrough, Writable } from 'node:stream';

/** A scripted user at a terminal: reads the output and types a line per prompt. */
export class ScriptedPerson {
  readonly input = new PassThrough();
  readonly output: Writable;
  /** The whole output. */
  text = '';
  readonly #lines: (string | ((text: string) => string | undefined))[];
  #answeredUpTo = 0;

  /** @param lines the answers, in order; a function gets the output and may leave the prompt unanswered */
  constructor(...lines: (string | ((text: string) => string | undefined))[]) {
    this.#lines = lines;
    this.output = new Writable({
      decodeStrings: false,
      write: (chunk, _encoding, done) => {
        this.text += String(chunk);
        done();
        setImmediate(() => this.#answer());
      },
    });
  }

  /** Number of scripted lines that no prompt consumed. */
  get unused(): number {
    return this.#lines.length;
  }

  get lines(): readonly string[] {
    return this.text.split('\n');
  }

  #answer(): void {
    const asksNow = this.text.endsWith(': ') || this.text.endsWith('> ');
    if (!asksNow || this.text.length === this.#answeredUpTo) return;
    this.#answeredUpTo = this.text.length;
    const line = this.#lines.shift();
    const answer = typeof line === 'function' ? line(this.text) : line;
    if (answer !== undefined) this.input.write(`${answer}\n`);
  }
}
