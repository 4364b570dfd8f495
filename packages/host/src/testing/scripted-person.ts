import { PassThrough, Writable } from 'node:stream';

/** A person at a terminal: reads what is written and types a line when asked. */
export class ScriptedPerson {
  readonly input = new PassThrough();
  readonly output: Writable;
  /** Everything that was written. */
  text = '';
  readonly #lines: (string | ((text: string) => string | undefined))[];
  #answeredUpTo = 0;

  /** @param lines the answers, in order; a function may look at what was written, and leave the question open */
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

  /** What was not typed, because nothing asked for it. */
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
