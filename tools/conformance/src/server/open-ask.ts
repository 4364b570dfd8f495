import { z } from 'zod';
import type { ServerTarget } from '../scenario.ts';
import { type Action, type LegacySession, openLegacySession } from '../wire/legacy-session.ts';
import type { Message } from '../wire/messages.ts';
import { type ModernAnswer, modernCall } from '../wire/modern-call.ts';

export const URL_AND_FORM = { form: {}, url: {} };

/** How an MCP server of revision 2025-11-25 asks, or `none` if it answered without asking. */
export type Style = 'error' | 'push' | 'input_required' | 'none';

/** `done`: the call succeeded. `ended`: it got an error, or a result with isError. */
export type Progress = 'waiting' | 'done' | 'ended';

/** A tool call that has asked for a URL to be opened. */
export interface OpenAsk extends AsyncDisposable {
  readonly style: Style;
  readonly url: unknown;
  readonly elicitationId: unknown;
  readonly session: LegacySession | undefined;
  /** The response that asked; in the style `push`, the request. */
  readonly asked: Message;
  /** Tells the MCP server that the user has consented, and whether the call got through. Waits `settleMs` for a held call. */
  progress(settleMs: number): Promise<Progress>;
  /** The last response to the call. */
  readonly last: () => Message | undefined;
}

const listSchema = z.looseObject({ elicitations: z.array(z.looseObject({})) });

/** The entries of `data.elicitations` in an error -32042. */
export function elicitationsOf(message: Message): readonly Readonly<Record<string, unknown>>[] {
  const data = listSchema.safeParse(message.error?.data);
  return message.error?.code === -32042 && data.success ? data.data.elicitations : [];
}

const requestSchema = z.looseObject({ method: z.string(), params: z.record(z.string(), z.unknown()) });

export interface UrlRequest {
  readonly key: string;
  readonly params: Readonly<Record<string, unknown>>;
}

/** The URL-mode requests of an `input_required` result. */
export function urlRequestsOf({ result }: Message): readonly UrlRequest[] {
  if (result?.['resultType'] !== 'input_required') return [];
  const requests = z.record(z.string(), z.unknown()).safeParse(result['inputRequests']);
  return Object.entries(requests.data ?? {}).flatMap(([key, value]) => {
    const request = requestSchema.safeParse(value);
    const isUrl =
      request.success && request.data.method === 'elicitation/create' && request.data.params['mode'] === 'url';
    return isUrl ? [{ key, params: request.data.params }] : [];
  });
}

export function requestStateOf({ result }: Message): string | undefined {
  const state = result?.['requestState'];
  return typeof state === 'string' ? state : undefined;
}

function progressOf(message: Message): Progress {
  if (message.result?.['resultType'] === 'input_required' || message.error?.code === -32042) return 'waiting';
  return message.result !== undefined && message.result['isError'] !== true ? 'done' : 'ended';
}

const limitOf = ({ limitMs }: ServerTarget) => AbortSignal.timeout(limitMs);

const PENDING = Symbol('pending');

/** The value of a promise, or `PENDING` after `ms`. */
async function settled<T>(promise: Promise<T>, ms: number): Promise<T | typeof PENDING> {
  const { promise: late, resolve } = Promise.withResolvers<typeof PENDING>();
  const timer = setTimeout(resolve, ms, PENDING);
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Calls the tool as a client that declares URL mode. @throws if the MCP server neither asks nor answers in time */
export async function openAsk(target: ServerTarget, action: Action = 'accept'): Promise<OpenAsk> {
  return target.revision === '2025-11-25' ? await openLegacyAsk(target, action) : await openModernAsk(target);
}

async function openLegacyAsk(target: ServerTarget, action: Action): Promise<OpenAsk> {
  // A person may take long: only the steps of the protocol have a limit.
  const session = await openLegacySession(
    target.endpoint,
    { elicitation: URL_AND_FORM, action },
    new AbortController().signal,
  );
  try {
    const call = session.call(target.tool, target.args);
    const first = await settled(Promise.race([call.pushed, call.answer]), target.limitMs);
    if (first === PENDING) throw new Error('the tool call neither asked nor answered in time');
    const isPushed = first.method !== undefined;
    const [listed] = elicitationsOf(first);
    const { url, elicitationId } = (isPushed ? first.params : listed) ?? {};
    let last: Message | undefined = isPushed ? undefined : first;

    async function progress(settleMs: number): Promise<Progress> {
      const running = isPushed ? call.answer : session.call(target.tool, target.args).answer;
      // A repeated call answers at once; a held call may not.
      const answer = await settled(running, isPushed ? settleMs : target.limitMs);
      if (answer === PENDING) return 'waiting';
      last = answer;
      return progressOf(answer);
    }
    return {
      style: isPushed ? 'push' : listed === undefined ? 'none' : 'error',
      url,
      elicitationId,
      session,
      asked: first,
      progress,
      last: () => last,
      [Symbol.asyncDispose]: () => session[Symbol.asyncDispose](),
    };
  } catch (error) {
    await session[Symbol.asyncDispose]();
    throw error;
  }
}

async function openModernAsk(target: ServerTarget): Promise<OpenAsk> {
  const call = { tool: target.tool, args: target.args, elicitation: URL_AND_FORM };
  const { answer: asked } = await modernCall(target.endpoint, call, limitOf(target));
  const [request] = urlRequestsOf(asked);
  const closing = new AbortController();
  let held: Promise<ModernAnswer> | undefined;
  let last = asked;

  async function progress(settleMs: number): Promise<Progress> {
    held ??= modernCall(target.endpoint, { ...call, ...retryOf(last) }, closing.signal);
    const answer = await settled(held, settleMs);
    if (answer === PENDING) return 'waiting';
    held = undefined;
    last = answer.answer;
    return progressOf(last);
  }
  return {
    style: request === undefined ? 'none' : 'input_required',
    url: request?.params['url'],
    elicitationId: undefined,
    session: undefined,
    asked,
    progress,
    last: () => last,
    async [Symbol.asyncDispose]() {
      closing.abort();
      await held?.catch(() => undefined);
    },
  };
}

/** The members of the retry after an `input_required` result whose URLs the user agreed to open. */
export function retryOf(message: Message, action: Action = 'accept') {
  const requests = urlRequestsOf(message);
  const requestState = requestStateOf(message);
  return {
    ...(requests.length === 0
      ? {}
      : { inputResponses: Object.fromEntries(requests.map(({ key }) => [key, { action }])) }),
    ...(requestState === undefined ? {} : { requestState }),
  };
}
