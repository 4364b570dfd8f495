import type { HostUser, UrlQuestion } from '../host/host.ts';

/** Stands before a host in place of a person: opens every URL, and hands it to whoever plays the browser part. */
export class UnattendedUser implements HostUser {
  readonly #asked: UrlQuestion[] = [];
  readonly #told: string[] = [];
  #waiting: ((question: UrlQuestion) => void) | undefined;

  /** Questions that nobody has taken yet. */
  get open(): number {
    return this.#asked.length;
  }

  get told(): readonly string[] {
    return this.#told;
  }

  /** The next URL that the host asks about. */
  async nextQuestion(): Promise<UrlQuestion> {
    const question = this.#asked.shift();
    if (question !== undefined) return question;
    const { promise, resolve } = Promise.withResolvers<UrlQuestion>();
    this.#waiting = resolve;
    return await promise;
  }

  async askToOpen(question: UrlQuestion): Promise<'accept'> {
    if (this.#waiting === undefined) this.#asked.push(question);
    else this.#waiting(question);
    this.#waiting = undefined;
    return 'accept';
  }

  tell(line: string): void {
    this.#told.push(line);
  }

  /** Waits for the MCP server's notice, however long it takes. */
  async impatience(signal: AbortSignal): Promise<void> {
    await new Promise(resolve => signal.addEventListener('abort', resolve, { once: true }));
  }
}
