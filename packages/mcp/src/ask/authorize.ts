import {
  type AccessTokenBody,
  type AccessTokenRequest,
  authorizationRequestSchema,
  type ElicitationBody,
} from '@postern/api';
import { z } from 'zod/v4';
import { ElicitationFailedError, GatewayError, invalidOptions, PosternUsageError } from '../errors.ts';
import type { SealedOpener } from '../gateway/sealed-delivery.ts';
import { forHearer, runSerially } from '../run/handler.ts';
import type { Ask, AskSpec, ToolRun } from '../run/run.ts';
import { isConfidential } from '../safe-http.ts';
import {
  answer,
  answerAnew,
  askOptionsSchema,
  bodyOptions,
  displayName,
  openAsk,
  outcomeOf,
  parseTerms,
} from './ask.ts';
import type { ApiFetch, Authorization, AuthorizationAccepted, AuthorizeOptions } from './verbs.ts';

export async function authorize(
  run: ToolRun,
  provider: string,
  options: AuthorizeOptions = {},
): Promise<Authorization> {
  const spec = authorizationSpec(provider, options);
  return await runSerially(run, async () => {
    const ask = await openAsk(run, spec, options);
    const answered = await answer(run, ask);
    return answered.action === 'accept' ? accepted(run, provider, ask, answered.elicitation) : answered;
  });
}

/** `authorizationRequestSchema` parses the members of this verb. */
const own = z.unknown().optional();
const optionsSchema = askOptionsSchema.extend({ scopes: own, resource: own, expectedAccount: own });

/** @throws {PosternUsageError} `invalid_ask`, before anything is sent */
export function authorizationSpec(provider: string, options: AuthorizeOptions): AskSpec {
  const { scopes, resource, expectedAccount } = options;
  const authorization = parseTerms('authorize', authorizationRequestSchema, {
    provider,
    // A text is an iterable of letters.
    scopes: Array.isArray(scopes) ? [...new Set(scopes)] : scopes,
    resource,
    expectedAccount,
  });
  return {
    about: { kind: 'authorization', provider, providerName: provider },
    terms: { ...authorization, scopes: authorization.scopes?.toSorted() },
    body: { kind: 'authorization', authorization, ...bodyOptions('authorize', options, optionsSchema) },
    needsRedemption: false,
    lasting: async (run, signal) =>
      (await run.environment.client.connections(await run.principal(), provider, signal)).connections,
  };
}

function accepted(run: ToolRun, provider: string, ask: Ask, elicitation: ElicitationBody): AuthorizationAccepted {
  const { connectionId, scopes } = outcomeOf('authorization', elicitation);
  const { handlerState } = run;
  const { signal } = run.call;
  const tokens = new AccessTokens(run, connectionId, (cause, within) =>
    runSerially(run, () => askAgain(run, { ...ask, signal: within }, cause)),
  );
  const send = createApiFetch(run, tokens, provider);
  return {
    action: 'accept',
    connectionId,
    scopes,
    accessToken: (options = {}) =>
      forHearer(handlerState, async () => {
        const { signal: given, rejected } = parseTerms('accessToken', tokenOptionsSchema, options);
        const within = given === undefined ? signal : AbortSignal.any([signal, given]);
        return (await tokens.get({ rejected, signal: within })).accessToken;
      }),
    fetch: (...request) => forHearer(handlerState, () => send(...request)),
    callbackMembers: () => forHearer(handlerState, async () => (await tokens.get({ signal })).callbackMembers),
  };
}

/** Asks the user to reconnect after the provider has ended the connection. */
async function askAgain(run: ToolRun, ask: Ask, cause: GatewayError): Promise<string> {
  const answered = await answerAnew(run, ask).catch((error: unknown) => {
    throw run.returnsRefusals && error instanceof ElicitationFailedError ? cause : error;
  });
  if (answered.action === 'accept') return outcomeOf('authorization', answered.elicitation).connectionId;
  throw cause;
}

const tokenOptionsSchema = z.strictObject({
  signal: z.instanceof(AbortSignal).optional(),
  rejected: z.string().optional(),
});

/** An access token as the gateway returned it. */
interface IssuedToken {
  readonly connectionId: string;
  readonly generation: number;
  readonly accessToken: string;
  readonly tokenType: string;
  readonly dpopProof: string | undefined;
  /** Hosts that may receive the token. Undefined if the gateway knows none. */
  readonly apiHosts: readonly string[] | undefined;
  readonly callbackMembers: Readonly<Record<string, string>>;
}

interface TokenRequest {
  /** Request that the DPoP proof is for. */
  readonly dpop?: AccessTokenRequest['dpop'];
  /** Access token that the provider's API rejected. */
  readonly rejected?: string | undefined;
  readonly signal: AbortSignal;
}

/** Maximum number of token sets whose generation is remembered, to report it if the API rejects one. */
const REMEMBERED = 8;
/** RFC 6749 appendix A.12. Any other character fails in a header, with an error that quotes the token. */
const ACCESS_TOKEN = /^[\x20-\x7e]+$/;
/** RFC 9110 section 11.1. */
const SCHEME = /^[!#$%&'*+.^_`|~\w-]+$/;
const COMPACT_JWS = /^[\w-]+\.[\w-]+\.[\w-]+$/;

/** Asks the user again after the provider ended the connection. Resolves to the id of a usable connection. */
type Reconnect = (cause: GatewayError, signal: AbortSignal) => Promise<string>;

/** Gets the access tokens of one connection for one run of a tool handler. */
class AccessTokens {
  readonly #run: ToolRun;
  readonly #reconnect: Reconnect;
  #handedOut: readonly IssuedToken[] = [];
  /** Changes when the user reconnects; calls in flight keep the connection they started with. */
  #connectionId: string;

  constructor(run: ToolRun, connectionId: string, reconnect: Reconnect) {
    this.#run = run;
    this.#connectionId = connectionId;
    this.#reconnect = reconnect;
  }

  /** @throws {GatewayError} */
  async get(request: TokenRequest): Promise<IssuedToken> {
    const { rejected } = request;
    const known = this.#handedOut.find(({ accessToken }) => accessToken === rejected);
    let issued = await this.#fetchOrReconnect(request, known);
    // A token of an earlier run, whose generation is unknown: compare it with the current token.
    if (issued.accessToken === rejected && issued.connectionId !== known?.connectionId)
      issued = await this.#fetchOrReconnect(request, issued);
    // The handler is about to get a token, or to send one.
    this.#run.log.noteAnswer();
    return issued;
  }

  async #fetchOrReconnect(request: TokenRequest, rejected: IssuedToken | undefined): Promise<IssuedToken> {
    try {
      return await this.#request(request, rejected);
    } catch (error) {
      if (!(error instanceof GatewayError) || error.code !== 'reauthorization_required') throw error;
      this.#connectionId = await this.#reconnect(error, request.signal);
      return await this.#request(request, undefined);
    }
  }

  async #request({ dpop, signal }: TokenRequest, rejected: IssuedToken | undefined): Promise<IssuedToken> {
    const { environment, call } = this.#run;
    const connectionId = this.#connectionId;
    const body = await environment.client.accessToken(
      connectionId,
      {
        tool: displayName(call.toolName),
        // Generations count per connection and cannot be compared across connections.
        rejectedGeneration: rejected?.connectionId === connectionId ? rejected.generation : undefined,
        sealed: environment.sealedOpener && true,
        dpop,
      },
      signal,
    );
    const { generation, tokenType, dpopProof, apiHosts, callbackMembers = {} } = body;
    const accessToken = await tokenOf(environment.sealedOpener, body, connectionId);
    const isUsable =
      ACCESS_TOKEN.test(accessToken) &&
      SCHEME.test(tokenType) &&
      (dpop === undefined || (dpopProof !== undefined && COMPACT_JWS.test(dpopProof)));
    if (!isUsable) throw new GatewayError('invalid_response', 'The gateway returned an invalid response.');
    const issued = { connectionId, generation, accessToken, tokenType, dpopProof, apiHosts, callbackMembers };
    const others = this.#handedOut.filter(one => one.connectionId !== connectionId || one.generation !== generation);
    this.#handedOut = [issued, ...others].slice(0, REMEMBERED);
    return issued;
  }
}

async function tokenOf(
  sealedOpener: SealedOpener | undefined,
  body: AccessTokenBody,
  connectionId: string,
): Promise<string> {
  if ('sealedAccessToken' in body) {
    if (sealedOpener !== undefined)
      return await sealedOpener.accessToken(body.sealedAccessToken, { ...body, connectionId });
    throw invalidOptions('The gateway seals access tokens: set decryptionKey.');
  }
  if (sealedOpener === undefined) return body.accessToken;
  // A proxy must not get a plain token by removing `sealed` from the request.
  throw new GatewayError('invalid_response', 'The gateway returned an unsealed access token.');
}

/**
 * `fetch` with the access tokens of one connection.
 *
 * @param provider named in the error for a host that is not allowed
 */
function createApiFetch({ environment, call }: ToolRun, tokens: AccessTokens, provider: string): ApiFetch {
  /** Whether the provider binds its tokens to a key (RFC 9449). Known after the first token. */
  let isBound = false;
  /** RFC 9449 section 8.2: the latest nonce of each origin goes into the next proof. */
  const nonces = new Map<string, string>();

  return async (input, init = {}) => {
    const request = input instanceof Request ? input : undefined;
    const target = targetOf(request?.url ?? String(input), environment.allowHttp);
    // `fetch` does not uppercase `patch`, and the proof names the method.
    const method = (init.method ?? request?.method ?? 'GET').toUpperCase();
    const given = init.signal ?? request?.signal;
    const signal = given ? AbortSignal.any([call.signal, given]) : call.signal;
    const isRepeatable = isSendableTwice(init.body ?? request?.body);

    async function getToken(rejected: string | undefined): Promise<IssuedToken> {
      const token = await tokens.get({ dpop: isBound ? proofRequest() : undefined, rejected, signal });
      if (token.tokenType !== 'DPoP' || token.dpopProof !== undefined) return token;
      isBound = true;
      return await tokens.get({ dpop: proofRequest(), signal });
    }

    function proofRequest() {
      const nonce = nonces.get(target.origin);
      const url = `${target.origin}${target.pathname}`;
      return { method, url, nonce };
    }

    async function send({ accessToken, tokenType, dpopProof, apiHosts }: IssuedToken): Promise<Response> {
      assertApiHost(apiHostOf(target), apiHosts, provider);
      const headers = new Headers(init.headers ?? request?.headers);
      headers.set('authorization', `${tokenType} ${accessToken}`);
      if (dpopProof !== undefined) headers.set('dpop', dpopProof);
      const redirect = init.redirect ?? (request?.redirect === 'manual' ? 'manual' : 'error');
      const response = await environment.fetch(request ?? target, { ...init, method, headers, signal, redirect });
      const nonce = nonceOf(response);
      if (nonce !== undefined && !response.redirected) nonces.set(target.origin, nonce);
      return response;
    }

    async function exchange(rejected: string | undefined): Promise<{ token: IssuedToken; response: Response }> {
      const token = await getToken(rejected);
      const response = await send(token);
      const wantsNonce = token.dpopProof !== undefined && asksForNonce(response) && nonceOf(response) !== undefined;
      if (!wantsNonce || !isRepeatable) return { token, response };
      await discard(response);
      const next = await getToken(undefined);
      return { token: next, response: await send(next) };
    }

    const { token, response } = await exchange(undefined);
    // After a followed redirect it is unknown which credentials arrived, so a 401 does not mean that the token was rejected.
    if (!isRepeatable || response.redirected || !isTokenRejected(response)) return response;
    await discard(response);
    return (await exchange(token.accessToken)).response;
  };
}

/** @throws {PosternUsageError} `invalid_url` */
function targetOf(text: string, allowHttp: boolean): URL {
  const url = URL.parse(text);
  if (url !== null && url.username === '' && url.password === '' && isConfidential(url, allowHttp)) return url;
  const kinds = 'https (or http on loopback, or with allowHttp), without a user';
  throw new PosternUsageError('invalid_url', `fetch: the user's access token is only sent to a URL of ${kinds}.`);
}

/** The host as `apiHosts` spells it: without a port it is port 443. No entry for https can match plain http. */
function apiHostOf({ protocol, host, port }: URL): string {
  return protocol === 'http:' && port === '' ? `${host}:80` : host;
}

/**
 * Keeps the token from hosts that a model, a user or an API response chose. The operator configures the hosts of the API.
 *
 * @throws {PosternUsageError} `host_not_allowed`
 */
function assertApiHost(host: string, apiHosts: readonly string[] | undefined, provider: string): void {
  const isAllowed =
    apiHosts === undefined ||
    apiHosts.some(allowed => (allowed.startsWith('*.') ? host.endsWith(allowed.slice(1)) : host === allowed));
  if (isAllowed) return;
  throw new PosternUsageError(
    'host_not_allowed',
    `fetch: ${host} is not an API host of provider ${provider}; nothing was sent. If it belongs to the API, add it to apiHosts of provider ${provider} in the gateway's configuration.`,
  );
}

/** Streams and other iterables can be sent only once. */
function isSendableTwice(body: unknown): boolean {
  return (
    body === undefined ||
    body === null ||
    typeof body === 'string' ||
    body instanceof URLSearchParams ||
    body instanceof FormData ||
    body instanceof Blob ||
    body instanceof ArrayBuffer ||
    ArrayBuffer.isView(body)
  );
}

/** Frees the connection. A transfer error is ignored because the body is not used. */
async function discard(response: Response): Promise<void> {
  await response.body?.cancel().catch(() => undefined);
}

/** One parameter of an authentication challenge (RFC 9110 section 11.2); a quoted value is read as a whole. */
const PARAMETER = /(?<![\w-])([\w-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))/g;

/**
 * Errors that another token of the same kind would not fix: RFC 6750 section 3.1, RFC 9449 sections
 * 7.1 and 9, RFC 9470 section 3.
 */
const NOT_THE_TOKENS_FAULT = new Set([
  'invalid_request',
  'insufficient_scope',
  'invalid_dpop_proof',
  'use_dpop_nonce',
  'insufficient_user_authentication',
]);

/** NQCHAR of RFC 9449 section 8.1. */
const NONCE = /^[\x21\x23-\x5b\x5d-\x7e]{1,512}$/;

/** Whether the API rejected the access token. A 401 without a reason counts as a rejection. @internal */
export function isTokenRejected(response: Response): boolean {
  if (response.status !== 401) return false;
  const errors = errorsOf(response);
  return errors.length === 0 || !errors.every(error => NOT_THE_TOKENS_FAULT.has(error));
}

/** RFC 9449 section 9: the API requires the nonce of this response in the proof. @internal */
export function asksForNonce(response: Response): boolean {
  return response.status === 401 && errorsOf(response).includes('use_dpop_nonce');
}

/** Returns the nonce for the next proof. Ignores an invalid nonce. @internal */
export function nonceOf(response: Response): string | undefined {
  const nonce = response.headers.get('dpop-nonce');
  return nonce !== null && NONCE.test(nonce) ? nonce : undefined;
}

function errorsOf(response: Response): string[] {
  const challenges = response.headers.get('www-authenticate') ?? '';
  return [...challenges.matchAll(PARAMETER)].flatMap(([, name, quoted, plain]) =>
    name?.toLowerCase() === 'error' ? [quoted ?? plain ?? ''] : [],
  );
}
