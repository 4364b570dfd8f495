import { type ElicitationAnswer, type FormElicitation, inspectUrl } from '@postern/host';
import { check, checkEqual, within } from './report.ts';
import type { Question, UnattendedUser } from './unattended-user.ts';

/** How long an answer of the machines may take, in milliseconds. */
export const PATIENCE_MS = 20_000;

export interface ToolAnswer {
  readonly text: string;
  readonly isError: boolean;
}

/** A page that an MCP server asks to open. */
export interface AskedPage {
  readonly url: string;
  /** The code in the host, which the page must show as well. */
  readonly matchCode: string;
}

/** A tool call that has to ask. It goes on while the story plays what is asked. */
export class RunningCall {
  readonly #user: UnattendedUser;
  readonly #answer: Promise<ToolAnswer>;
  readonly #posternUrl: string;

  constructor(p: { user: UnattendedUser; answer: Promise<ToolAnswer>; posternUrl: string }) {
    this.#user = p.user;
    this.#answer = p.answer;
    this.#posternUrl = p.posternUrl;
    // It may fail before the story comes to await it, and is reported there.
    this.#answer.catch(() => undefined);
  }

  /** The next question is a page of Postern; the host consents. */
  async page(): Promise<AskedPage> {
    const { request, answer } = await this.#question();
    check(request.mode === 'url', 'a form was asked for, not a page');
    const inspected = inspectUrl(request.url);
    checkEqual(inspected?.host, new URL(this.#posternUrl).host, 'host of the URL');
    checkEqual(inspected?.warnings.length, 0, 'warnings about the URL');
    const matchCode = /Code on the page: (\S+)/.exec(request.message)?.[1];
    check(matchCode !== undefined, 'there is no match code in the MCP message');
    answer({ action: 'accept' });
    return { url: request.url, matchCode };
  }

  /** The next question is a form that the host shows itself. */
  async form(): Promise<{ form: FormElicitation; answer: (answer: ElicitationAnswer) => void }> {
    const { request, answer } = await this.#question();
    check(request.mode === 'form', 'a page was asked for, not a form');
    return { form: request, answer };
  }

  async answer(): Promise<ToolAnswer> {
    return await within(PATIENCE_MS, 'the result of the tool', this.#answer);
  }

  /** The text of a result that is no error. */
  async success(): Promise<string> {
    const { text, isError } = await this.answer();
    check(!isError, 'the tool answered with an error');
    return text;
  }

  /** The result says that the user declined. */
  async declined(): Promise<string> {
    const { text, isError } = await this.answer();
    check(isError && /declined/.test(text), 'the result does not say that it was declined');
    return text;
  }

  async #question(): Promise<Question> {
    const first = await within(PATIENCE_MS, 'a question', Promise.race([this.#user.nextQuestion(), this.#answer]));
    check('request' in first, 'the tool answered without asking');
    return first;
  }
}
