import type { Clock } from '../clock.ts';
import type { Completions } from '../completions.ts';
import type { CompletionPrompt, ElicitationContext, ElicitationHandler, UrlElicitation } from '../elicitation.ts';
import { ElicitationRefusedError, HostError } from '../errors.ts';

/** How the wait for one URL came to its end. */
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

/** An MCP server may change id or URL while it means the same. */
const isSame = (one: UrlElicitation, other: UrlElicitation) =>
  one.elicitationId === other.elicitationId || one.url === other.url;

/**
 * The URLs of one tool call under revision 2025-11-25: each is consented to once and then awaited. What comes back tells
 * whether it is worth going on.
 */
export class UrlWait {
  readonly #options: UrlWaitOptions;
  readonly #visited: Visited[] = [];

  constructor(options: UrlWaitOptions) {
    this.#options = options;
  }

  /**
   * Resolves when the call may be made again.
   *
   * @throws {ElicitationRefusedError} the person declined, dismissed, or gave up waiting
   * @throws {HostError} `elicitation_loop` asked again after its completion notice; `elicitation_pending` asked again after
   * its time
   */
  async settle(request: UrlElicitation, context: ElicitationContext): Promise<void> {
    const known = this.#visited.find(visited => isSame(visited.request, request));
    if (known?.ending === 'notice')
      throw new HostError('elicitation_loop', 'the MCP server asks again for what it has called complete');
    if (known?.ending === 'time')
      throw new HostError('elicitation_pending', 'the browser part was not over in time; call again later');

    if (known !== undefined) {
      // The person was early. Nothing is opened a second time.
      known.attempt += 1;
      known.ending = await this.#wait(request, context, known.attempt);
      return;
    }
    const { action } = await this.#options.handler(request, context);
    context.signal.throwIfAborted();
    if (action !== 'accept') throw new ElicitationRefusedError(action);
    this.#visited.push({ request, attempt: 1, ending: await this.#wait(request, context, 1) });
  }

  async #wait(request: UrlElicitation, context: ElicitationContext, attempt: number): Promise<Ending> {
    const { completions, completionPrompt, completionMs, clock } = this.#options;
    const over = new AbortController();
    const signal = AbortSignal.any([context.signal, over.signal]);
    const { promise: ended, resolve, reject } = Promise.withResolvers<Ending>();
    const abort = () => reject(context.signal.reason);
    context.signal.addEventListener('abort', abort, { once: true });
    if (context.signal.aborted) abort();
    try {
      if (request.elicitationId !== undefined)
        void completions.completion(request.elicitationId, signal).then(() => resolve('notice'));
      void clock.wait(completionMs, signal).then(() => resolve('time'));
      completionPrompt?.({ request, context, attempt }, signal).then(choice => {
        if (choice === 'done') resolve('person');
        if (choice === 'cancel') reject(new ElicitationRefusedError('cancel'));
      }, reject);
      return await ended;
    } finally {
      context.signal.removeEventListener('abort', abort);
      over.abort();
    }
  }
}
