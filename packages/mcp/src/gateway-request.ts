import { randomInt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { type ProblemCode, problemSchema } from '@postern/api';
import type { z } from 'zod/v4';
import { GatewayError } from './errors.ts';
import type { Authorizer } from './gateway-auth.ts';
import { type GatewayTransport, retryAfterMsOf, type TransportAnswer, TransportError } from './gateway-transport.ts';
import { jsonOf } from './parse-strictly.ts';
import type { TraceContext } from './tool-call.ts';

export interface GatewayRequestOptions {
  readonly transport: GatewayTransport;
  readonly authorize: Authorizer;
  /** Timeout of one request in milliseconds, plus the wait of a waiting read. Default 10,000. */
  readonly timeoutMs?: number | undefined;
  /** Attempts per call, the first included. Default 3. */
  readonly maxAttempts?: number | undefined;
  /** Sent with every call. */
  readonly trace?: TraceContext | undefined;
  /** Pause between attempts; rejects when the signal aborts. */
  readonly sleep?: ((ms: number, signal: AbortSignal | undefined) => Promise<unknown>) | undefined;
  readonly random?: (() => number) | undefined;
  /** What the author does about a refusal that the gateway cannot explain. Contains no URL. */
  readonly advice?: Partial<Record<GatewayError['code'], string>> | undefined;
}

/** One call of the gateway's API. */
export interface GatewayCall<T> {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly path: string;
  readonly schema: z.ZodType<T>;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly extraMs?: number;
  /** Problem codes that are not retried, because the caller handles them. */
  readonly final?: readonly GatewayError['code'][];
  readonly signal: AbortSignal | undefined;
}

const FIRST_PAUSE_MS = 100;
/** Longest `Retry-After` that is honoured. A longer one is reported as an error, because a user is waiting for the tool. */
const MAX_PAUSE_MS = 5_000;

/**
 * Returns a function that calls the gateway and repeats what may succeed later. It throws {@link GatewayError}, or the signal's reason.
 */
export function createGatewayRequest(options: GatewayRequestOptions): <T>(call: GatewayCall<T>) => Promise<T> {
  const { transport, authorize, timeoutMs = 10_000, maxAttempts = 3, random = spread } = options;
  const sleep = options.sleep ?? ((ms, signal) => delay(ms, undefined, { signal }));

  async function attempt<T>(call: GatewayCall<T>): Promise<T> {
    let answer: TransportAnswer;
    try {
      answer = await transport.send({
        method: call.method,
        path: call.path,
        headers: {
          accept: 'application/json, application/problem+json',
          authorization: await authorize(),
          ...options.trace,
          ...(call.body !== undefined && { 'content-type': 'application/json' }),
          ...call.headers,
        },
        body: call.body === undefined ? undefined : JSON.stringify(call.body),
        timeoutMs: timeoutMs + (call.extraMs ?? 0),
        signal: call.signal,
      });
    } catch (error) {
      throw error instanceof TransportError ? asGatewayError(error) : error;
    }
    if (answer.status >= 300 && answer.status < 400)
      throw new GatewayError('network_error', 'Cannot connect to the gateway.', { httpStatus: answer.status });
    if (answer.status < 200 || answer.status >= 300) throw new Refusal(answer, call.body, options.advice);
    const parsed = call.schema.safeParse(jsonOf(answer.text));
    if (!parsed.success) {
      throw new GatewayError('invalid_response', 'The gateway returned an invalid response.', {
        httpStatus: answer.status,
      });
    }
    return parsed.data;
  }

  return async function send<T>(call: GatewayCall<T>): Promise<T> {
    for (let failed = 1; ; failed += 1) {
      call.signal?.throwIfAborted();
      try {
        return await attempt(call);
      } catch (error) {
        const isFinal =
          failed >= maxAttempts || (error instanceof GatewayError && call.final?.includes(error.code) === true);
        const pause = isFinal ? undefined : pauseBeforeRetry(error, failed, random);
        if (pause === undefined) throw error;
        await sleep(pause, call.signal).catch((broken: unknown) => {
          call.signal?.throwIfAborted();
          throw broken;
        });
      }
    }
  };
}

/** Refusals whose `detail` has names and paths only. The details of others may contain URLs, which no MCP client gets. */
const NAMING: ReadonlySet<GatewayError['code']> = new Set<ProblemCode>([
  ...(['invalid_request', 'payment_not_possible', 'kind_not_allowed', 'provider_not_allowed'] as const),
  ...(['scope_not_allowed', 'processor_not_allowed', 'payee_not_registered'] as const),
  ...(['currency_not_allowed', 'amount_over_limit', 'rate_limited', 'too_many_concurrent_requests'] as const),
  ...(['too_many_elicitations', 'too_many_open_elicitations', 'quota_exceeded'] as const),
]);
/** The member of an ask that a refusal is about, where its value is no secret. */
const REFUSED: Partial<Record<GatewayError['code'], string>> = {
  kind_not_allowed: 'kind',
  issuer_not_allowed: 'subject.issuer',
  provider_not_allowed: 'authorization.provider',
  unknown_provider: 'authorization.provider',
  scope_not_allowed: 'authorization.scopes',
  resource_not_allowed: 'authorization.resource',
  expected_account_unsupported: 'authorization.provider',
  processor_not_allowed: 'payment.processor',
  payee_not_registered: 'payment.payee.name',
  currency_not_allowed: 'payment.amount.currency',
  amount_over_limit: 'payment.amount.minorUnits',
};
const MAX_DETAIL = 500;

class Refusal extends GatewayError {
  readonly retryAfterMs: number | undefined;

  constructor(answer: TransportAnswer, asked: unknown, advice: GatewayRequestOptions['advice'] = {}) {
    const { status } = answer;
    const problem = problemSchema.safeParse(jsonOf(answer.text)).data;
    const code = problem?.code ?? (status === 503 ? 'unavailable' : 'invalid_response');
    const title = problem?.title ?? `The gateway answered with HTTP status ${status}.`;
    const detail = problem?.detail?.slice(0, MAX_DETAIL).replace(/\p{Cc}/gu, ' ');
    const sentences = (...texts: readonly (string | undefined)[]) =>
      [...texts, advice[code]].filter(text => text !== undefined).join(' ');
    super(code, sentences(title, NAMING.has(code) ? detail : undefined), {
      httpStatus: status,
      requestId: problem?.requestId,
      // Users open it, so it must be http or https.
      undoUrl: /^https?:\/\//i.test(problem?.undoUrl ?? '') ? problem?.undoUrl : undefined,
      explanation: sentences(title, refusedIn(asked, REFUSED[code]), detail),
    });
    this.retryAfterMs = retryAfterMsOf(answer);
  }
}

/** "Sent: kind "payment"." */
function refusedIn(asked: unknown, path: string | undefined): string | undefined {
  const value = path?.split('.').reduce<unknown>((at, name) => Object(at)[name], asked);
  return value === undefined ? undefined : `Sent: ${path} ${JSON.stringify(value).slice(0, MAX_DETAIL)}.`;
}

function asGatewayError({ kind, cause }: TransportError): GatewayError {
  if (kind === 'timeout') return new GatewayError('timeout', 'The gateway did not respond in time.');
  if (kind === 'oversized') return new GatewayError('invalid_response', 'The gateway returned an invalid response.');
  return new GatewayError('network_error', 'Cannot connect to the gateway.', { cause });
}

/** A random number in [0, 1). */
export const spread = (): number => randomInt(2 ** 32) / 2 ** 32;

/** Pause in milliseconds, or undefined if a retry cannot help. Full jitter, so replicas do not retry in lockstep. */
function pauseBeforeRetry(error: unknown, failed: number, random: () => number): number | undefined {
  if (!(error instanceof GatewayError)) return undefined;
  const backoff = random() * FIRST_PAUSE_MS * 2 ** failed;
  if (error.code === 'network_error') return backoff;
  const isBusy = error.httpStatus === 502 || error.httpStatus === 503 || error.httpStatus === 504;
  const isLimited = error.code === 'rate_limited' || error.code === 'too_many_concurrent_requests';
  if (!isBusy && !isLimited) return undefined;
  const asked = error instanceof Refusal ? error.retryAfterMs : undefined;
  if (asked === undefined) return isLimited ? undefined : backoff;
  return asked <= MAX_PAUSE_MS ? asked + backoff : undefined;
}
