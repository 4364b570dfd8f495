import type { ElicitationAnswer, ElicitationHandler, ElicitationRequest } from '@postern/host';

/** An elicitation at a host, and the function that answers it. */
export interface Question {
  readonly request: ElicitationRequest;
  answer(answer: ElicitationAnswer): void;
}

/** Replaces the human at an MCP host: passes every elicitation to the script that plays the user. */
export class UnattendedUser {
  readonly #asked: Question[] = [];
  readonly #signIn = Promise.withResolvers<URL>();
  #waiting: ((question: Question) => void) | undefined;

  /** The sign-in URL of the MCP server. */
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

  /** Number of unanswered elicitations. */
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
