import { randomInt, randomUUID } from 'node:crypto';
import { globalAgent, Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { setTimeout as delay } from 'node:timers/promises';
import { urlToHttpOptions } from 'node:url';
import {
  type AccessTokenBody,
  type AccessTokenRequest,
  type ConnectionListBody,
  type CredentialListBody,
  type CredentialValuesBody,
  type ElicitationBody,
  elicitationSchema,
  type IssueElicitationInput,
  MAX_WAIT_SECONDS,
  operations,
  type ProblemCode,
  problemSchema,
  type ReadCredentialRequest,
  type RedeemedElicitationBody,
  type RedeemRequest,
  type RefundBody,
  type RefundRequestBody,
  requestOf,
  terminalStatuses,
} from '@postern/api';
import { importJWK, importPKCS8, type JWK, SignJWT } from 'jose';
import type { z } from 'zod/v4';
import { GatewayError, type GatewayTransportCode, invalidOptions, jsonOf } from '../errors.ts';
import { boundedText } from '../safe-http.ts';

export interface Subject {
  /** The `iss` of the authorization server that authenticated the user. */
  readonly issuer: string;
  /** The immutable user identifier at that issuer. Never an e-mail address. */
  readonly subject: string;
}

/** Trace of a request (W3C Trace Context, level 1). */
export interface TraceContext {
  readonly traceparent: string;
  readonly tracestate?: string;
}

/** The calls of `/v1` that an MCP server needs. Every method throws {@link GatewayError}, or the signal's reason. */
export interface GatewayClient {
  issue(body: IssueElicitationInput, signal?: AbortSignal): Promise<ElicitationBody>;
  /** @param waitSeconds 0–55; the response comes when the status is terminal or after this wait */
  read(elicitationId: string, waitSeconds: number, signal?: AbortSignal): Promise<ElicitationBody>;
  cancel(elicitationId: string, signal?: AbortSignal): Promise<ElicitationBody>;
  accessToken(connectionId: string, request: AccessTokenRequest, signal?: AbortSignal): Promise<AccessTokenBody>;
  connections(subject: Subject, provider: string, signal?: AbortSignal): Promise<ConnectionListBody>;
  /**
   * Takes the result of a completed elicitation.
   *
   * @param redemption returns the same result again if repeated; a different one is refused with `already_redeemed`
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
  /** @param key names the refund: a repeat under the same key is the same refund */
  refund(elicitationId: string, key: string, request: RefundRequestBody, signal?: AbortSignal): Promise<RefundBody>;
}

const terminal: ReadonlySet<string> = new Set(terminalStatuses);

/** Whether the stored status is final. */
export const isTerminal = ({ status }: ElicitationBody): boolean => terminal.has(status);

/** Whether the user has opened a payment, so that it may be paid at any moment. */
export const isPaymentUnderWay = (elicitation: ElicitationBody): boolean =>
  elicitation.kind === 'payment' && elicitation.status !== 'pending' && !isTerminal(elicitation);

/** Whether a payment with this status is paid, or may be at any moment. */
export const mayBePaid = (status: ElicitationBody['status'] | undefined): boolean =>
  status === 'active' || status === 'verifying' || status === 'completed';

/** Users open the URL, so it must be http or https. */
const webElicitationSchema = elicitationSchema.refine(body => /^https?:\/\//i.test(body.url));

/** Maximum time that the gateway waits for a token refresh. */
const RENEWAL_MS = 30_000;
/** Maximum time that the gateway waits for a payment processor. */
const PROCESSOR_MS = 30_000;

export function createGatewayClient(options: GatewayRequestOptions): GatewayClient {
  const send = createGatewayRequest(options);
  const openable = { schema: webElicitationSchema };
  return {
    issue(body, signal) {
      // One key for all attempts, so that a lost response does not create a second elicitation.
      const idempotencyKey = randomUUID();
      return send({ ...requestOf(operations.issueElicitation, { body, idempotencyKey }), ...openable, signal });
    },

    read(elicitationId, waitSeconds, signal) {
      const wait = Math.max(0, Math.min(MAX_WAIT_SECONDS, Math.floor(waitSeconds)));
      const query = wait > 0 ? { wait } : {};
      // After a refused wait, `WaitingReads` reads the status without waiting.
      const final = wait > 0 ? (['overloaded', 'too_many_concurrent_requests'] as const) : [];
      const request = requestOf(operations.readElicitation, { parameters: { elicitationId }, query });
      return send({ ...request, ...openable, extraMs: wait * 1000, final, signal });
    },

    cancel: (elicitationId, signal) =>
      send({ ...requestOf(operations.cancelElicitation, { parameters: { elicitationId } }), ...openable, signal }),

    accessToken: (connectionId, body, signal) =>
      send({
        ...requestOf(operations.getAccessToken, { parameters: { connectionId }, body }),
        extraMs: RENEWAL_MS,
        signal,
        // The gateway has already waited for the provider.
        final: ['upstream_unavailable'],
      }),

    connections: ({ issuer, subject }, provider, signal) =>
      send({ ...requestOf(operations.listConnections, { query: { issuer, subject, provider } }), signal }),

    redeem(elicitationId, idempotencyKey, body, signal) {
      const input = { parameters: { elicitationId }, body, idempotencyKey };
      return send({ ...requestOf(operations.redeemElicitation, input), signal });
    },

    credentials: ({ issuer, subject }, name, signal) =>
      send({ ...requestOf(operations.listCredentials, { query: { issuer, subject, name } }), signal }),

    readCredential: (credentialId, body, signal) =>
      send({ ...requestOf(operations.readCredential, { parameters: { credentialId }, body }), signal }),

    refund(elicitationId, idempotencyKey, body, signal) {
      const input = { parameters: { elicitationId }, body, idempotencyKey };
      return send({ ...requestOf(operations.refundPayment, input), extraMs: PROCESSOR_MS, signal });
    },

    async removeCredential(credentialId, signal) {
      await send({ ...requestOf(operations.removeCredential, { parameters: { credentialId } }), signal });
    },
  };
}

const METHODS: Readonly<Record<keyof GatewayClient, true>> = {
  issue: true,
  read: true,
  cancel: true,
  redeem: true,
  refund: true,
  accessToken: true,
  connections: true,
  credentials: true,
  readCredential: true,
  removeCredential: true,
};

/** A client for callers that learn only with a call which client answers it. */
export function lazyClient(
  call: (use: (client: GatewayClient) => Promise<unknown>) => Promise<unknown>,
): GatewayClient {
  type Method = (...args: readonly unknown[]) => Promise<unknown>;
  const lazy =
    (name: string): Method =>
    (...args) =>
      call(client => (client[name as keyof GatewayClient] as Method)(...args));
  // Each method has the type of the one that it calls.
  return Object.fromEntries(Object.keys(METHODS).map(name => [name, lazy(name)])) as unknown as GatewayClient;
}

/** A payment in progress ends when the processor reports it, after at most a day. */
export const CHARGING_MS = 24 * 60 * 60_000;

export interface GatewayRequestOptions {
  readonly transport: GatewayTransport;
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
function createGatewayRequest(options: GatewayRequestOptions): <T>(call: GatewayCall<T>) => Promise<T> {
  const { transport, timeoutMs = 10_000, maxAttempts = 3, random = spread } = options;
  const sleep = options.sleep ?? ((ms, signal) => delay(ms, undefined, { signal }));

  async function attempt<T>(call: GatewayCall<T>): Promise<T> {
    const answer = await transport.send({
      method: call.method,
      path: call.path,
      headers: {
        ...options.trace,
        ...(call.body !== undefined && { 'content-type': 'application/json' }),
        ...call.headers,
      },
      body: call.body === undefined ? undefined : JSON.stringify(call.body),
      timeoutMs: timeoutMs + (call.extraMs ?? 0),
      signal: call.signal,
    });
    if (answer.status >= 300 && answer.status < 400) throw unanswered('network_error', { httpStatus: answer.status });
    if (answer.status < 200 || answer.status >= 300) throw new Refusal(answer, call.body, options.advice);
    const parsed = call.schema.safeParse(answer.json);
    if (!parsed.success) throw unanswered('invalid_response', { httpStatus: answer.status });
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
    const problem = problemSchema.safeParse(answer.json).data;
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

/** A private key of this MCP server whose public half is registered at the gateway. */
export interface PrivateKeyAuth {
  /** A private JWK, a PKCS #8 PEM text, or a `CryptoKey` that can sign. */
  readonly privateKey: JWK | CryptoKey | string;
  readonly kid: string;
  /** The id of this MCP server at the gateway; becomes `iss` and `sub`. */
  readonly mcpServerId: string;
  /** JWS algorithm. Default: the JWK's `alg`, else `ES256`. */
  readonly algorithm?: string;
  /** `aud` of the tokens: the gateway's public URL. Default: `url` without a trailing slash, so set it where `url` is another one. */
  readonly audience?: string;
}

export type Authorizer = () => Promise<string>;

/** Seconds. One call uses a token once; the rest is clock skew. */
const TOKEN_LIFETIME = 60;

export function apiKeyAuthorizer(apiKey: string): Authorizer {
  const header = `Bearer ${apiKey}`;
  return () => Promise.resolve(header);
}

/** Signs one short-lived JWT per call (in the manner of RFC 7523 section 3). */
export function privateKeyAuthorizer(auth: PrivateKeyAuth, audience: string, now: () => number): Authorizer {
  const algorithm = auth.algorithm ?? jwkAlgorithm(auth.privateKey) ?? 'ES256';
  let key: Promise<CryptoKey | Uint8Array> | undefined;
  // The errors of jose may quote the key.
  const unfit = (): never => {
    const text = `auth.privateKey: a private JWK, PKCS #8 PEM text or CryptoKey that signs with ${algorithm} is needed.`;
    throw invalidOptions(text);
  };
  return async () => {
    key ??= importKey(auth.privateKey, algorithm);
    const issuedAt = Math.floor(now() / 1000);
    const token = await new SignJWT()
      .setProtectedHeader({ alg: algorithm, kid: auth.kid, typ: 'JWT' })
      .setIssuer(auth.mcpServerId)
      .setSubject(auth.mcpServerId)
      .setAudience(auth.audience ?? audience)
      .setJti(randomUUID())
      .setIssuedAt(issuedAt)
      .setExpirationTime(issuedAt + TOKEN_LIFETIME)
      .sign(await key.catch(unfit))
      .catch(unfit);
    return `Bearer ${token}`;
  };
}

function jwkAlgorithm(key: PrivateKeyAuth['privateKey']): string | undefined {
  return typeof key === 'object' && 'alg' in key ? key.alg : undefined;
}

async function importKey(key: PrivateKeyAuth['privateKey'], algorithm: string): Promise<CryptoKey | Uint8Array> {
  if (typeof key === 'string') return await importPKCS8(key, algorithm);
  if (key instanceof CryptoKey) return key;
  return await importJWK(key, algorithm);
}

export interface TransportRequest {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  /** Timeout in milliseconds. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
  /** A process that has nothing else to do may end before the response. With `fetch`, that is up to its implementation. */
  readonly isBackground?: boolean;
}

interface Head {
  readonly status: number;
  header(name: string): string | undefined;
}

/** Returns `Retry-After` in milliseconds. */
function retryAfterMsOf({ header }: Head): number | undefined {
  const seconds = Number(header('retry-after') ?? Number.NaN);
  return Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : undefined;
}

export interface TransportAnswer extends Head {
  /** Undefined if the body is no JSON. */
  readonly json: unknown;
}

/** An answer whose body has not been parsed. */
interface TextAnswer extends Head {
  readonly text: string;
}

const UNANSWERED: Readonly<Record<GatewayTransportCode, string>> = {
  network_error: 'Cannot connect to the gateway.',
  timeout: 'The gateway did not respond in time.',
  invalid_response: 'The gateway returned an invalid response.',
};

const unanswered = (code: GatewayTransportCode, details: { httpStatus?: number; cause?: unknown } = {}): GatewayError =>
  new GatewayError(code, UNANSWERED[code], details);

/**
 * Sends requests with the credential of this MCP server to one gateway, over persistent connections. Does not follow redirects, which
 * would carry the credential or the user's token to another host. Throws {@link GatewayError} where there is no answer, with no cause
 * but a system error code; or the reason of the signal.
 */
export interface GatewayTransport {
  send(request: TransportRequest): Promise<TransportAnswer>;
}

/** Maximum length of a response in characters. The longest are lists of a user's connections. */
const MAX_ANSWER = 4 * 1024 * 1024;
/** Maximum number of interim responses (1xx) to one request. Proxies send a few while they wait. */
const MAX_INTERIM = 100;

/** @param fetchImplementation replaces `node:http`, which needs a third of the processor time of the global `fetch` */
export function createGatewayTransport(
  url: string,
  authorize: Authorizer,
  fetchImplementation: typeof fetch | undefined,
): GatewayTransport {
  const send = fetchImplementation === undefined ? overNode(url) : overFetch(url, fetchImplementation);
  return {
    async send(request) {
      const credential = { accept: 'application/json, application/problem+json', authorization: await authorize() };
      const { status, header, text } = await send({ ...request, headers: { ...credential, ...request.headers } });
      return { status, header, json: jsonOf(text) };
    },
  };
}

type Send = (request: TransportRequest) => Promise<TextAnswer>;

function overNode(url: string): Send {
  const base = urlToHttpOptions(new URL(url));
  const prefix = new URL(url).pathname.replace(/\/$/, '');
  const isSecure = base.protocol === 'https:';
  const begin = isSecure ? httpsRequest : httpRequest;
  let agent: HttpAgent | undefined;

  /** Created with the first request, after the process has set whether to use the proxies of its environment. */
  function agentOf(): HttpAgent {
    // Untyped, and the only place that shows whether `--use-env-proxy` or an equivalent is set.
    const { proxyEnv } = (globalAgent as { options?: { proxyEnv?: NodeJS.ProcessEnv } }).options ?? {};
    const options = { keepAlive: true, scheduling: 'lifo', proxyEnv } as const;
    return isSecure ? new HttpsAgent(options) : new HttpAgent(options);
  }

  return function send({
    method,
    path,
    headers,
    body,
    timeoutMs,
    signal,
    isBackground,
  }: TransportRequest): Promise<TextAnswer> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted === true) return reject(signal.reason);
      agent ??= agentOf();
      const length = body === undefined ? undefined : { 'content-length': String(Buffer.byteLength(body)) };
      const outgoing = begin({ ...base, agent, method, path: `${prefix}${path}`, headers: { ...headers, ...length } });
      const fail = (error: unknown) => {
        clearTimeout(timer);
        reject(error);
        outgoing.destroy();
      };
      const abort = () => fail(signal?.reason);
      const timer = setTimeout(() => fail(unanswered('timeout')), timeoutMs);
      if (isBackground === true) {
        timer.unref();
        // The agent refs the connection again when another request uses it.
        outgoing.once('socket', socket => socket.unref());
      }
      signal?.addEventListener('abort', abort, { once: true });
      let interim = 0;
      outgoing.on('information', () => {
        interim += 1;
        if (interim > MAX_INTERIM) fail(unanswered('network_error'));
      });
      let isAnswered = false;
      outgoing.once('close', () => {
        signal?.removeEventListener('abort', abort);
        // A switch of protocols (101) closes the connection without a response and without an error.
        if (!isAnswered) fail(unanswered('network_error'));
      });
      outgoing.on('error', error => fail(unanswered('network_error', networkCause(error))));
      outgoing.once('response', incoming => {
        isAnswered = true;
        let text = '';
        incoming.setEncoding('utf8');
        incoming.on('data', (chunk: string) => {
          text += chunk;
          if (text.length > MAX_ANSWER) fail(unanswered('invalid_response'));
        });
        incoming.once('error', error => fail(unanswered('network_error', networkCause(error))));
        incoming.once('end', () => {
          clearTimeout(timer);
          resolve({ ...headOf(incoming), text });
        });
      });
      outgoing.end(body);
    });
  };
}

function headOf({ statusCode = 0, headers }: IncomingMessage): Head {
  return {
    status: statusCode,
    header(name) {
      const value = headers[name];
      return Array.isArray(value) ? value.join(', ') : value;
    },
  };
}

function overFetch(url: string, fetchImplementation: typeof fetch): Send {
  return async function send({ method, path, headers, body, timeoutMs, signal: given }) {
    const deadline = AbortSignal.timeout(timeoutMs);
    const signal = given ? AbortSignal.any([given, deadline]) : deadline;
    let text: string | undefined;
    let response: Response;
    try {
      response = await fetchImplementation(`${url}${path}`, {
        // Not `error`, which leaves the connection of a redirect open, with its body unread.
        method,
        headers,
        signal,
        redirect: 'manual',
        body: body ?? null,
      });
      text = await boundedText(response, MAX_ANSWER);
    } catch (error) {
      given?.throwIfAborted();
      if (deadline.aborted) throw unanswered('timeout');
      throw unanswered('network_error', networkCause(error instanceof Error ? error.cause : undefined));
    }
    if (text === undefined) throw unanswered('invalid_response');
    return { status: response.status, header: name => response.headers.get(name) ?? undefined, text };
  };
}

/** Keeps only the system error code (`ECONNREFUSED`), because the error may quote the request. */
function networkCause(cause: unknown): { readonly cause?: Error } {
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  return typeof code === 'string' ? { cause: new Error(code) } : {};
}
