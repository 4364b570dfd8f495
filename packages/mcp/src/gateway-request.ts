import { randomInt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { type ProblemBody, problemSchema } from '@postern/api';
import type { z } from 'zod/v4';
import { GatewayError, refusalText } from './errors.ts';
import type { Authorizer } from './gateway-auth.ts';
import {
  createGatewayTransport,
  type GatewayTransport,
  retryAfterMsOf,
  type TransportAnswer,
  TransportError,
} from './gateway-transport.ts';
import type { TraceContext } from './tool-call.ts';

export interface GatewayRequestOptions {
  /** Base URL of the gateway's API, without a trailing slash. */
  readonly url: string;
  readonly authorize: Authorizer;
  /** Timeout of one request in milliseconds, plus the wait of a waiting read. Default 10,000. */
  readonly timeoutMs?: number | undefined;
  /** Attempts per call, the first included. Default 3. */
  readonly maxAttempts?: number | undefined;
  /** Default: requests of `node:http`. */
  readonly fetch?: typeof fetch | undefined;
  /** Transport shared with other clients. Default: a new one. */
  readonly transport?: GatewayTransport | undefined;
  /** Sent with every call. */
  readonly trace?: TraceContext | undefined;
  /** Pause between attempts; rejects when the signal aborts. */
  readonly sleep?: ((ms: number, signal: AbortSignal | undefined) => Promise<unknown>) | undefined;
  readonly random?: (() => number) | undefined;
}

/** One call of the gateway's API. */
export interface GatewayCall<T> {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly path: string;
  readonly schema: z.ZodType<T>;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
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
  const { url, authorize, timeoutMs = 10_000, maxAttempts = 3, random = spread } = options;
  const transport = options.transport ?? createGatewayTransport(url, options.fetch);
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
    if (answer.status < 200 || answer.status >= 300) throw refusal(answer);
    const parsed = call.schema.safeParse(parseJson(answer.text));
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

class RefusalWithPause extends GatewayError {
  readonly retryAfterMs: number | undefined;

  constructor(problem: ProblemBody | undefined, answer: TransportAnswer) {
    const { status } = answer;
    const code = problem?.code ?? (status === 503 ? 'unavailable' : 'invalid_response');
    super(code, refusalText(problem) ?? `The gateway answered with HTTP status ${status}.`, {
      httpStatus: status,
      requestId: problem?.requestId,
      // Users open it, so it must be http or https.
      undoUrl: /^https?:\/\//i.test(problem?.undoUrl ?? '') ? problem?.undoUrl : undefined,
    });
    this.retryAfterMs = retryAfterMsOf(answer);
  }
}

function refusal(answer: TransportAnswer): GatewayError {
  const problem = problemSchema.safeParse(parseJson(answer.text));
  return new RefusalWithPause(problem.success ? problem.data : undefined, answer);
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
  const asked = error instanceof RefusalWithPause ? error.retryAfterMs : undefined;
  if (asked === undefined) return isLimited ? undefined : backoff;
  return asked <= MAX_PAUSE_MS ? asked + backoff : undefined;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
