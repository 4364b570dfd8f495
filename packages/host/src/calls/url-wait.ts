import { type Clock, unlessAborted } from '../clock.ts';
import type { Completions } from '../completions.ts';
import type { CompletionPrompt, ElicitationContext, ElicitationHandler, UrlElicitation } from '../elicitation.ts';
import { ElicitationRefusedError, HostError } from '../errors.ts';

/** What ended the wait for one URL: the completion notice, the user or the timeout. */
type Ending = 'notice' | 'person' | 'time';

interface Visited {
  readonly request: UrlElicitation;
  ending: Ending;
  attempt: number;
}

export interface UrlWaitOptions {
  readonly handler: ElicitationHandler;
  readonly completions: Completions;
  readonly completionPrompt: CompletionPrompt | undefined;
  readonly completionMs: number;
  readonly clock: Clock;
}

/** Matches by id or by URL, because an MCP server may change one of them between calls. */
const isSame = (one: UrlElicitation, other: UrlElicitation) =>
  one.elicitationId === other.elicitationId || one.url === other.url;

/**
 * Tracks the URLs of one tool call (2025-11-25). The user consents to each URL once, then the host awaits its completion.
 * A URL that the MCP server requests again afterwards ends the call or asks the user again.
 */
export class UrlWait {
  readonly #options: UrlWaitOptions;
  readonly #visited: Visited[] = [];

  constructor(options: UrlWaitOptions) {
    this.#options = options;
  }

  /**
   * Resolves when the tool may be called again.
   *
   * @throws {ElicitationRefusedError} the user or a policy declined, dismissed, or stopped waiting
   * @throws {HostError} `elicitation_loop` if the URL is requested again after its completion notice, `elicitation_pending`
   * if it is requested again after the timeout
   */
  async settle(request: UrlElicitation, context: ElicitationContext): Promise<void> {
    const known = this.#visited.find(visited => isSame(visited.request, request));
    if (known?.ending === 'notice')
      throw new HostError(
        'elicitation_loop',
        'the MCP server requested an elicitation again after reporting it complete',
      );
    if (known?.ending === 'time')
      throw new HostError('elicitation_pending', 'the elicitation was not completed in time; call again later');

    if (known !== undefined) {
      // The user continued too early. Never open the page twice.
      known.attempt += 1;
      known.ending = await this.#wait(request, context, known.attempt);
      return;
    }
    const answer = await this.#options.handler(request, context);
    context.signal.throwIfAborted();
    if (answer.action !== 'accept') throw new ElicitationRefusedError(answer);
    this.#visited.push({ request, attempt: 1, ending: await this.#wait(request, context, 1) });
  }

  async #wait(request: UrlElicitation, context: ElicitationContext, attempt: number): Promise<Ending> {
    const { completions, completionPrompt, completionMs, clock } = this.#options;
    const over = new AbortController();
    const signal = AbortSignal.any([context.signal, over.signal]);
    const { promise: ended, resolve, reject } = Promise.withResolvers<Ending>();
    try {
      if (request.elicitationId !== undefined)
        void completions.completion(request.elicitationId, signal).then(() => resolve('notice'));
      void clock.wait(completionMs, signal).then(() => resolve('time'));
      completionPrompt?.({ request, context, attempt }, signal).then(choice => {
        if (choice === 'done') resolve('person');
        if (choice === 'cancel') reject(new ElicitationRefusedError({ action: 'cancel' }));
      }, reject);
      return await unlessAborted(ended, context.signal);
    } finally {
      over.abort();
    }
  }
}
