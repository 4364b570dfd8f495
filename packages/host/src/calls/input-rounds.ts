import { z } from 'zod/v4';
import type { Clock } from '../clock.ts';
import type { ElicitationAnswer, ElicitationContext, ElicitationHandler } from '../elicitation.ts';
import { HostError } from '../errors.ts';
import { parseElicitation } from '../requests.ts';
import type { CallLimits } from './limits.ts';

/** An `input_required` result (2026-07-28, "Multi round-trip requests"). */
export interface InputRequired {
  readonly inputRequests: Readonly<Record<string, unknown>>;
  /** Opaque. The retry echoes it unchanged, or omits it if it was absent. */
  readonly requestState?: string | undefined;
}

/** The members that a retry adds to the parameters of the first call. */
export interface RoundAnswer {
  readonly inputResponses?: Readonly<Record<string, unknown>>;
  readonly requestState?: string;
}

/** An input request other than an elicitation: sampling, roots. */
export interface OtherInputRequest {
  readonly method: string;
  readonly params?: Readonly<Record<string, unknown>> | undefined;
}
export type FulfilInput = (request: OtherInputRequest, signal: AbortSignal) => Promise<Record<string, unknown>>;

export interface InputRoundsOptions {
  readonly handler: ElicitationHandler;
  readonly fulfilInput: FulfilInput | undefined;
  readonly limits: CallLimits;
  readonly clock: Clock;
}

const inputRequest = z.object({ method: z.string(), params: z.record(z.string(), z.unknown()).optional() });

/** Maximum number of input requests in one round, as in a −32042 (2025-11-25). */
const MAX_INPUT_REQUESTS = 20;

/** Runs the rounds of one call. Handles the requests of a round one at a time, because the user sees one at a time. */
export class InputRounds {
  readonly #options: InputRoundsOptions;
  /** URLs that the user has consented to in this call, and how often the MCP server has repeated each. */
  readonly #consented = new Map<string, number>();
  #asked = 0;
  #pauseMs: number;

  constructor(options: InputRoundsOptions) {
    this.#options = options;
    this.#pauseMs = options.limits.pollMinMs;
  }

  /**
   * @param heldMs how long the MCP server held the request before it answered with this round
   * @throws {HostError} `too_many_rounds`, `elicitation_loop`, `unsupported_input`, `invalid_request`
   */
  async answer(round: InputRequired, context: ElicitationContext, heldMs: number): Promise<RoundAnswer> {
    const state = round.requestState === undefined ? {} : { requestState: round.requestState };
    const entries = Object.entries(round.inputRequests).map(([key, entry]) => [key, parseEntry(entry)] as const);
    if (entries.length === 0 && round.requestState === undefined)
      throw new HostError('invalid_request', 'the MCP server sent an empty round: no input requests and no state');
    if (entries.length > MAX_INPUT_REQUESTS)
      throw new HostError('too_many_rounds', 'the MCP server sent too many input requests in one round');

    const { limits } = this.#options;
    const isWaiting = entries.every(([, entry]) => this.#isConsented(entry));
    if (isWaiting) await this.#pause(context.signal, heldMs);
    else if (++this.#asked > limits.inputRounds)
      throw new HostError('too_many_rounds', 'the MCP server exceeded the limit of input rounds');
    else this.#pauseMs = limits.pollMinMs;

    const responses: [string, unknown][] = [];
    for (const [key, entry] of entries) responses.push([key, await this.#respond(entry, context)]);
    return entries.length === 0 ? state : { inputResponses: Object.fromEntries(responses), ...state };
  }

  #isConsented({ method, params }: OtherInputRequest): boolean {
    const url = params?.['url'];
    return (
      method === 'elicitation/create' &&
      params?.['mode'] === 'url' &&
      typeof url === 'string' &&
      this.#consented.has(url)
    );
  }

  async #respond(
    entry: OtherInputRequest,
    context: ElicitationContext,
  ): Promise<ElicitationAnswer | Record<string, unknown>> {
    if (entry.method !== 'elicitation/create') return await this.#fulfil(entry, context.signal);
    const request = parseElicitation(entry.params);
    if (request.mode === 'url') {
      const repeats = this.#consented.get(request.url);
      if (repeats !== undefined) return this.#repeat(request.url, repeats + 1);
    }
    const answer = await this.#options.handler(request, context);
    context.signal.throwIfAborted();
    if (answer.action !== 'accept') return { action: answer.action };
    if (request.mode === 'url') this.#consented.set(request.url, 0);
    return answer;
  }

  /** Accepts a URL again without asking: an MCP server repeats it every round while it waits for the user. */
  #repeat(url: string, times: number): ElicitationAnswer {
    if (times > this.#options.limits.repeats)
      throw new HostError('elicitation_loop', 'the MCP server repeated the same URL too often');
    this.#consented.set(url, times);
    return { action: 'accept' };
  }

  async #fulfil(entry: OtherInputRequest, signal: AbortSignal): Promise<Record<string, unknown>> {
    const { fulfilInput } = this.#options;
    if (fulfilInput === undefined)
      throw new HostError(
        'unsupported_input',
        `this host does not support ${JSON.stringify(entry.method.slice(0, 64))}`,
      );
    return await fulfilInput(entry, signal);
  }

  /** Backs off between rounds. An MCP server that holds requests sets the pace itself, which resets the back-off. */
  async #pause(signal: AbortSignal, heldMs: number): Promise<void> {
    const { limits, clock } = this.#options;
    if (heldMs >= limits.pollMaxMs) this.#pauseMs = limits.pollMinMs;
    await clock.wait(this.#pauseMs, signal);
    signal.throwIfAborted();
    this.#pauseMs = Math.min(this.#pauseMs * 2, limits.pollMaxMs);
  }
}

function parseEntry(entry: unknown): OtherInputRequest {
  const parsed = inputRequest.safeParse(entry);
  if (!parsed.success) throw new HostError('invalid_request', 'an input request has no method');
  return parsed.data;
}
