import { randomInt, randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import {
  type AccessTokenBody,
  type AccessTokenRequest,
  accessTokenSchema,
  type ConnectionListBody,
  type CredentialListBody,
  type CredentialValuesBody,
  connectionListSchema,
  credentialListSchema,
  credentialValuesSchema,
  type ElicitationBody,
  elicitationSchema,
  type IssueElicitationInput,
  MAX_WAIT_SECONDS,
  type ProblemBody,
  problemSchema,
  type ReadCredentialRequest,
  type RedeemedElicitationBody,
  type RedeemRequest,
  redeemedElicitationSchema,
  removedCredentialSchema,
} from '@postern/api';
import type { z } from 'zod';
import { GatewayError } from './errors.ts';
import type { Authorizer } from './gateway-auth.ts';
import type { Subject } from './subject.ts';
import type { TraceContext } from './trace-context.ts';

export interface GatewayClientOptions {
  /** Base URL of the gateway's API, without a trailing slash. */
  readonly url: string;
  readonly authorize: Authorizer;
  /** Milliseconds for one answer; a waiting read gets its waiting time on top. Default 10,000. */
  readonly timeoutMs?: number | undefined;
  /** Attempts per call, the first included. Default 3. */
  readonly maxAttempts?: number | undefined;
  readonly fetch?: typeof fetch | undefined;
  /** Sent along with every call. */
  readonly trace?: TraceContext | undefined;
  /** Pause between attempts; rejects when the signal aborts. */
  readonly sleep?: ((ms: number, signal: AbortSignal | undefined) => Promise<unknown>) | undefined;
  readonly random?: (() => number) | undefined;
}

/** The calls of `/v1` that an MCP server needs. Every method throws {@link GatewayError}, or the signal's reason. */
export interface GatewayClient {
  issue(body: IssueElicitationInput, signal?: AbortSignal): Promise<ElicitationBody>;
  /** @param waitSeconds 0–55; the answer comes when the status is terminal or the time is over */
  read(elicitationId: string, waitSeconds: number, signal?: AbortSignal): Promise<ElicitationBody>;
  accessToken(connectionId: string, request: AccessTokenRequest, signal?: AbortSignal): Promise<AccessTokenBody>;
  connections(subject: Subject, provider: string, signal?: AbortSignal): Promise<ConnectionListBody>;
  /**
   * Takes the result of a completed elicitation.
   *
   * @param redemption presented again, it gets the same result again; another one is refused with `already_redeemed`
   */
  redeem(
    elicitationId: string,
    redemption: string,
    request: RedeemRequest,
    signal?: AbortSignal,
  ): Promise<RedeemedElicitationBody>;
  credentials(subject: Subject, name: string, signal?: AbortSignal): Promise<CredentialListBody>;
  readCredential(
    credentialId: string,
    request: ReadCredentialRequest,
    signal?: AbortSignal,
  ): Promise<CredentialValuesBody>;
  removeCredential(credentialId: string, signal?: AbortSignal): Promise<void>;
}

/** The URL is handed to people, so nothing but a web page may hide behind it. */
const webElicitationSchema = elicitationSchema.refine(body => /^https?:\/\//i.test(body.url));

interface Call<T> {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly path: string;
  readonly schema: z.ZodType<T>;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
  readonly extraMs?: number;
  /** The gateway itself waits for the provider: that it gave up is final. */
  readonly isPatient?: boolean;
  readonly signal: AbortSignal | undefined;
}

const FIRST_PAUSE_MS = 100;
/** How long the gateway itself waits for a token to be renewed. */
const RENEWAL_MS = 30_000;
/** A gateway that asks for a longer pause gets its refusal reported instead: a user is waiting for the tool. */
const MAX_PAUSE_MS = 5_000;

export function createGatewayClient(options: GatewayClientOptions): GatewayClient {
  const { url, authorize, timeoutMs = 10_000, maxAttempts = 3, random = spread } = options;
  const fetchImplementation = options.fetch ?? fetch;
  const sleep = options.sleep ?? ((ms, signal) => delay(ms, undefined, { signal }));

  async function attempt<T>(call: Call<T>): Promise<T> {
    const deadline = AbortSignal.timeout(timeoutMs + (call.extraMs ?? 0));
    const signal = call.signal ? AbortSignal.any([call.signal, deadline]) : deadline;
    const authorization = await authorize();
    let response: Response;
    let text: string;
    try {
      response = await fetchImplementation(`${url}${call.path}`, {
        method: call.method,
        headers: {
          accept: 'application/json, application/problem+json',
          authorization,
          ...options.trace,
          ...(call.body === undefined ? {} : { 'content-type': 'application/json' }),
          ...call.headers,
        },
        ...(call.body === undefined ? {} : { body: JSON.stringify(call.body) }),
        // A redirect would carry the credential, or the user's token, somewhere else.
        redirect: 'error',
        signal,
      });
      text = await response.text();
    } catch (error) {
      call.signal?.throwIfAborted();
      if (deadline.aborted) throw new GatewayError('timeout', 'The gateway did not answer in time.');
      throw new GatewayError('network_error', 'The gateway could not be reached.', { cause: networkCause(error) });
    }
    if (!response.ok) throw refusal(response, text);
    const parsed = call.schema.safeParse(parseJson(text));
    if (!parsed.success) {
      throw new GatewayError('invalid_response', 'The gateway gave an answer outside its contract.', {
        httpStatus: response.status,
      });
    }
    return parsed.data;
  }

  async function send<T>(call: Call<T>): Promise<T> {
    for (let failed = 1; ; failed += 1) {
      call.signal?.throwIfAborted();
      try {
        return await attempt(call);
      } catch (error) {
        const isFinal = failed >= maxAttempts || (call.isPatient === true && hasCode(error, 'upstream_unavailable'));
        const pause = isFinal ? undefined : pauseBeforeRetry(error, failed, random);
        if (pause === undefined) throw error;
        await sleep(pause, call.signal).catch((broken: unknown) => {
          call.signal?.throwIfAborted();
          throw broken;
        });
      }
    }
  }

  return {
    issue: (body, signal) =>
      send({
        method: 'POST',
        path: '/v1/elicitations',
        schema: webElicitationSchema,
        body,
        // One key for all attempts: an answer that was lost on the way must not become a second elicitation.
        headers: { 'idempotency-key': randomUUID() },
        signal,
      }),

    read(elicitationId, waitSeconds, signal) {
      const wait = Math.max(0, Math.min(MAX_WAIT_SECONDS, Math.floor(waitSeconds)));
      return send({
        method: 'GET',
        path: `/v1/elicitations/${encodeURIComponent(elicitationId)}${wait > 0 ? `?wait=${wait}` : ''}`,
        schema: webElicitationSchema,
        extraMs: wait * 1000,
        signal,
      });
    },

    accessToken: (connectionId, request, signal) =>
      send({
        method: 'POST',
        path: `/v1/connections/${encodeURIComponent(connectionId)}/access-token`,
        schema: accessTokenSchema,
        body: request,
        extraMs: RENEWAL_MS,
        isPatient: true,
        signal,
      }),

    connections: ({ issuer, subject }, provider, signal) =>
      send({
        method: 'GET',
        path: `/v1/connections?${new URLSearchParams({ issuer, subject, provider })}`,
        schema: connectionListSchema,
        signal,
      }),

    redeem: (elicitationId, redemption, request, signal) =>
      send({
        method: 'POST',
        path: `/v1/elicitations/${encodeURIComponent(elicitationId)}/redeem`,
        schema: redeemedElicitationSchema,
        body: request,
        headers: { 'idempotency-key': redemption },
        signal,
      }),

    credentials: ({ issuer, subject }, name, signal) =>
      send({
        method: 'GET',
        path: `/v1/credentials?${new URLSearchParams({ issuer, subject, name })}`,
        schema: credentialListSchema,
        signal,
      }),

    readCredential: (credentialId, request, signal) =>
      send({
        method: 'POST',
        path: `/v1/credentials/${encodeURIComponent(credentialId)}/values`,
        schema: credentialValuesSchema,
        body: request,
        signal,
      }),

    async removeCredential(credentialId, signal) {
      await send({
        method: 'DELETE',
        path: `/v1/credentials/${encodeURIComponent(credentialId)}`,
        schema: removedCredentialSchema,
        signal,
      });
    },
  };
}

class RefusalWithPause extends GatewayError {
  readonly retryAfterMs: number | undefined;

  constructor(problem: ProblemBody | undefined, response: Response) {
    const code = problem?.code ?? (response.status === 503 ? 'unavailable' : 'invalid_response');
    super(code, problem?.title ?? `The gateway answered with HTTP status ${response.status}.`, {
      httpStatus: response.status,
      requestId: problem?.requestId,
    });
    const seconds = Number(response.headers.get('retry-after') ?? Number.NaN);
    this.retryAfterMs = Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : undefined;
  }
}

function refusal(response: Response, text: string): GatewayError {
  const problem = problemSchema.safeParse(parseJson(text));
  return new RefusalWithPause(problem.success ? problem.data : undefined, response);
}

const hasCode = (error: unknown, code: ProblemBody['code']): boolean =>
  error instanceof GatewayError && error.code === code;

/** In [0, 1), so that replicas that failed together do not come back together. */
const spread = (): number => randomInt(2 ** 32) / 2 ** 32;

/** Milliseconds, or undefined where a repetition cannot help. Full jitter keeps replicas from returning in step. */
function pauseBeforeRetry(error: unknown, failed: number, random: () => number): number | undefined {
  if (!(error instanceof GatewayError)) return undefined;
  const backoff = random() * FIRST_PAUSE_MS * 2 ** failed;
  if (error.code === 'network_error' || error.code === 'idempotency_in_flight') return backoff;
  const isBusy = error.httpStatus === 502 || error.httpStatus === 503 || error.httpStatus === 504;
  if (!isBusy && error.code !== 'rate_limited') return undefined;
  const asked = error instanceof RefusalWithPause ? error.retryAfterMs : undefined;
  if (asked === undefined) return error.code === 'rate_limited' ? undefined : backoff;
  return asked <= MAX_PAUSE_MS ? asked + backoff : undefined;
}

/** The system's code (`ECONNREFUSED`) is worth keeping; the error itself may quote the request. */
function networkCause(error: unknown): Error | undefined {
  const cause = error instanceof Error ? error.cause : undefined;
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  return typeof code === 'string' ? new Error(code) : undefined;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
