import { type ElicitationAnswer, type FormElicitation, inspectUrl } from '@postern/host';
import { check, checkEqual, within } from './report.ts';
import type { Question, UnattendedUser } from './unattended-user.ts';

/** Timeout of a response, in milliseconds. */
export const PATIENCE_MS = 20_000;

export interface ToolAnswer {
  readonly text: string;
  readonly isError: boolean;
}

/** A page that an MCP server asks the user to open. */
export interface AskedPage {
  readonly url: string;
  /** Shown by the host; the page must show the same code. */
  readonly matchCode: string;
}

/** A running tool call that elicits. It keeps running while the story plays the user's part. */
export class RunningCall {
  readonly #user: UnattendedUser;
  readonly #answer: Promise<ToolAnswer>;
  readonly #posternUrl: string;

  constructor(p: { user: UnattendedUser; answer: Promise<ToolAnswer>; posternUrl: string }) {
    this.#user = p.user;
    this.#answer = p.answer;
    this.#posternUrl = p.posternUrl;
    // The call may reject before the story awaits it; the await reports the error.
    this.#answer.catch(() => undefined);
  }

  /** Expects an elicitation by URL from Postern; the host agrees to open it. */
  async page(): Promise<AskedPage> {
    const { request, answer } = await this.#question();
    check(request.mode === 'url', 'the elicitation is a form, not a URL');
    const inspected = inspectUrl(request.url);
    checkEqual(inspected?.host, new URL(this.#posternUrl).host, 'host of the URL');
    checkEqual(inspected?.warnings.length, 0, 'warnings about the URL');
    const matchCode = /Code on the page: (\S+)/.exec(request.message)?.[1];
    check(matchCode !== undefined, 'the MCP message has no match code');
    answer({ action: 'accept' });
    return { url: request.url, matchCode };
  }

  /** Expects an elicitation by a form that the host shows. */
  async form(): Promise<{ form: FormElicitation; answer: (answer: ElicitationAnswer) => void }> {
    const { request, answer } = await this.#question();
    check(request.mode === 'form', 'the elicitation is a URL, not a form');
    return { form: request, answer };
  }

  async answer(): Promise<ToolAnswer> {
    return await within(PATIENCE_MS, 'the result of the tool', this.#answer);
  }

  /** Returns the text of the result. Fails for an error. */
  async success(): Promise<string> {
    const { text, isError } = await this.answer();
    check(!isError, 'the tool returned an error');
    return text;
  }

  /** Expects a result that says the user declined. */
  async declined(): Promise<string> {
    const { text, isError } = await this.answer();
    check(!isError && /declined/.test(text), 'the result does not say that the user declined');
    return text;
  }

  async #question(): Promise<Question> {
    const first = await within(PATIENCE_MS, 'a question', Promise.race([this.#user.nextQuestion(), this.#answer]));
    check('request' in first, 'the tool returned a result without eliciting');
    return first;
  }
}
