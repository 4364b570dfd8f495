import type { ElicitationAnswer, ElicitationHandler, ElicitationRequest } from '@postern/host';

/** What a host asks, and how it gets its answer. */
export interface Question {
  readonly request: ElicitationRequest;
  answer(answer: ElicitationAnswer): void;
}

/** Stands before a host in place of a person: hands every question to whoever plays the person. */
export class UnattendedUser {
  readonly #asked: Question[] = [];
  readonly #signIn = Promise.withResolvers<URL>();
  #waiting: ((question: Question) => void) | undefined;

  /** Where to sign in to the MCP server. */
  get signIn(): Promise<URL> {
    return this.#signIn.promise;
  }

  readonly openSignIn = async (url: URL): Promise<boolean> => {
    this.#signIn.resolve(url);
    return true;
  };

  readonly handler: ElicitationHandler = async request => {
    const { promise, resolve } = Promise.withResolvers<ElicitationAnswer>();
    const question = { request, answer: resolve };
    if (this.#waiting === undefined) this.#asked.push(question);
    else this.#waiting(question);
    this.#waiting = undefined;
    return await promise;
  };

  /** Questions that nobody has taken yet. */
  get open(): number {
    return this.#asked.length;
  }

  async nextQuestion(): Promise<Question> {
    const question = this.#asked.shift();
    if (question !== undefined) return question;
    const { promise, resolve } = Promise.withResolvers<Question>();
    this.#waiting = resolve;
    return await promise;
  }
}
