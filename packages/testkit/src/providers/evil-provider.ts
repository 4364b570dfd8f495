import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, type JWTPayload, SignJWT } from 'jose';
import { listenHttp } from './http-listener.ts';
import { endpointOf } from './provider-endpoints.ts';
import { type LoggedRequest, type ProviderEndpoint, RequestLog } from './request-log.ts';

/** Any response. Sends an object as JSON, a text unchanged, and an iterable in chunks. */
export interface EvilAnswer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: object | string | Iterable<Uint8Array>;
}

export type OptionalEndpoint =
  | 'device_authorization_endpoint'
  | 'pushed_authorization_request_endpoint'
  | 'registration_endpoint'
  | 'revocation_endpoint';

/** A provider with honest responses, until the test assigns a member. */
export interface EvilProvider extends AsyncDisposable {
  readonly issuer: string;
  readonly port: number;
  /** Number of TCP connections accepted so far. */
  readonly connections: number;
  /** Metadata document, under both well-known paths. */
  metadata: Record<string, unknown>;
  /** Response at the well-known paths; default: `metadata`. */
  metadataAnswer: () => EvilAnswer;
  /** Parameters of the redirect, from those of the authorization request. Omits `undefined` values. */
  authorizationResponse: (request: URLSearchParams) => Record<string, string | undefined>;
  tokenAnswer: (form: URLSearchParams) => EvilAnswer | Promise<EvilAnswer>;
  userinfoAnswer: () => EvilAnswer;
  jwksAnswer: () => EvilAnswer;
  /** Default: stores the request, so that the authorization endpoint accepts its `request_uri` (RFC 9126). */
  pushedAuthorizationAnswer: (form: URLSearchParams) => EvilAnswer;
  /** Default: a user code and this provider's verification URI (RFC 8628). */
  deviceAuthorizationAnswer: (form: URLSearchParams) => EvilAnswer;
  /** Gets the parsed request. Default: registers the requested metadata as the client of the options (RFC 7591). */
  registrationAnswer: (request: unknown) => EvilAnswer;
  revocationAnswer: (form: URLSearchParams) => EvilAnswer;
  /** URLs of the endpoints that are not in the metadata unless offered. */
  readonly optionalEndpoints: Readonly<Record<OptionalEndpoint, string>>;
  /** Puts optional endpoints into the metadata. */
  offer(...endpoints: OptionalEndpoint[]): void;
  /** Queues a response of this endpoint, which takes precedence over the members. */
  answerNext(endpoint: ProviderEndpoint, answer: EvilAnswer): void;
  /** Claims of the ID token in the honest token response. */
  idTokenClaims: (nonce: string | undefined) => JWTPayload;
  /** Parameters of the last authorization request. */
  readonly lastAuthorization: URLSearchParams;
  readonly privateKey: CryptoKey;
  readonly publicJwk: JWK;
  sign(
    claims: JWTPayload,
    header?: { alg?: string; kid?: string; typ?: string },
    key?: CryptoKey | Uint8Array,
  ): Promise<string>;
  requests(endpoint?: ProviderEndpoint): readonly LoggedRequest[];
  close(): Promise<void>;
}

/** Returns the honest token response with some members replaced; `undefined` removes a member. */
export async function honestTokens(
  provider: EvilProvider,
  changes: Record<string, unknown> = {},
): Promise<Record<string, unknown>> {
  const nonce = provider.lastAuthorization.get('nonce') ?? undefined;
  return {
    access_token: 'evil-access-token',
    token_type: 'Bearer',
    expires_in: 3600,
    ...(nonce !== undefined && { id_token: await provider.sign(provider.idTokenClaims(nonce)) }),
    ...changes,
  };
}

/** Returns the honest response to a refresh with some members replaced; `undefined` removes a member. */
export function honestRefresh(changes: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    access_token: 'evil-access-token-refreshed',
    token_type: 'Bearer',
    expires_in: 3600,
    refresh_token: 'evil-refresh-token-rotated',
    ...changes,
  };
}

export async function startEvilProvider(options: { clientId: string; port?: number }): Promise<EvilProvider> {
  const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true });
  const publicJwk = { ...(await exportJWK(publicKey)), kid: 'evil-key', alg: 'ES256', use: 'sig' };
  const log = new RequestLog();
  let lastAuthorization = new URLSearchParams();

  const listener = await listenHttp(handle, options);
  const issuer = `http://localhost:${listener.port}`;
  const queues = new Map<ProviderEndpoint, EvilAnswer[]>();
  let pushed = new URLSearchParams();
  const optionalEndpoints = {
    device_authorization_endpoint: `${issuer}/device/auth`,
    pushed_authorization_request_endpoint: `${issuer}/request`,
    registration_endpoint: `${issuer}/reg`,
    revocation_endpoint: `${issuer}/token/revocation`,
  };

  const provider: EvilProvider = {
    issuer,
    port: listener.port,
    get connections() {
      return listener.connections;
    },
    metadata: {
      issuer,
      authorization_endpoint: `${issuer}/auth`,
      token_endpoint: `${issuer}/token`,
      userinfo_endpoint: `${issuer}/me`,
      jwks_uri: `${issuer}/jwks`,
      response_types_supported: ['code'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['ES256'],
      code_challenge_methods_supported: ['S256'],
      authorization_response_iss_parameter_supported: true,
    },
    metadataAnswer: () => ({ body: provider.metadata }),
    authorizationResponse: request => ({ code: 'evil-code', state: request.get('state') ?? undefined, iss: issuer }),
    tokenAnswer: async form => ({
      body: form.get('grant_type') === 'refresh_token' ? honestRefresh() : await honestTokens(provider),
    }),
    userinfoAnswer: () => ({ body: { sub: 'alice', name: 'Alice Example' } }),
    jwksAnswer: () => ({ body: { keys: [publicJwk] } }),
    pushedAuthorizationAnswer: () => ({
      status: 201,
      body: { request_uri: 'urn:ietf:params:oauth:request_uri:evil', expires_in: 60 },
    }),
    deviceAuthorizationAnswer: () => ({
      body: {
        device_code: 'evil-device-code',
        user_code: 'WDJB-MJHT',
        verification_uri: `${issuer}/device`,
        expires_in: 600,
        interval: 5,
      },
    }),
    registrationAnswer: request => ({
      status: 201,
      body: { ...(typeof request === 'object' ? request : {}), client_id: options.clientId },
    }),
    revocationAnswer: () => ({ body: '' }),
    optionalEndpoints,
    offer(...endpoints) {
      for (const endpoint of endpoints) provider.metadata[endpoint] = optionalEndpoints[endpoint];
    },
    answerNext: (endpoint, answer) => {
      queues.set(endpoint, [...(queues.get(endpoint) ?? []), answer]);
    },
    idTokenClaims: nonce => {
      const now = Math.floor(Date.now() / 1000);
      return {
        iss: issuer,
        aud: options.clientId,
        sub: 'alice',
        name: 'Alice Example',
        iat: now,
        exp: now + 300,
        ...(nonce !== undefined && { nonce }),
      };
    },
    get lastAuthorization() {
      return lastAuthorization;
    },
    privateKey,
    publicJwk,
    sign: (claims, header = {}, key = privateKey) =>
      new SignJWT(claims).setProtectedHeader({ alg: 'ES256', kid: 'evil-key', ...header }).sign(key),
    requests: endpoint => log.of(endpoint),
    close: () => listener.close(),
    [Symbol.asyncDispose]: () => listener.close(),
  };
  return provider;

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', issuer);
    const endpoint = endpointOf(url.pathname);
    const body = await text(request);
    const form = new URLSearchParams(endpoint === 'registration' ? '' : body);
    log.add({
      endpoint,
      method: request.method ?? '',
      url,
      headers: request.headers,
      body,
      form: Object.fromEntries(form),
    });
    const next = queues.get(endpoint)?.shift();
    if (next) {
      await send(response, next);
      return;
    }
    if (endpoint === 'pushed_authorization_request') pushed = form;
    if (endpoint === 'authorization') {
      lastAuthorization = url.searchParams.has('request_uri') ? pushed : url.searchParams;
      const back = new URL(lastAuthorization.get('redirect_uri') ?? '/');
      for (const [name, value] of Object.entries(provider.authorizationResponse(lastAuthorization))) {
        if (value !== undefined) back.searchParams.append(name, value);
      }
      response.writeHead(303, { location: back.href }).end();
      return;
    }
    const answers: Partial<Record<ProviderEndpoint, () => EvilAnswer | Promise<EvilAnswer>>> = {
      device_authorization: () => provider.deviceAuthorizationAnswer(form),
      jwks: provider.jwksAnswer,
      metadata: provider.metadataAnswer,
      pushed_authorization_request: () => provider.pushedAuthorizationAnswer(form),
      registration: () => provider.registrationAnswer(JSON.parse(body)),
      revocation: () => provider.revocationAnswer(form),
      token: () => provider.tokenAnswer(form),
      userinfo: provider.userinfoAnswer,
    };
    const answer = await answers[endpoint]?.();
    if (answer) await send(response, answer);
    else response.writeHead(404).end();
  }
}

async function send(response: ServerResponse, { status = 200, headers, body }: EvilAnswer): Promise<void> {
  const isInChunks = typeof body === 'object' && Symbol.iterator in body && !Array.isArray(body);
  // A client may disconnect during an endless response, so the connection cannot be reused.
  const connection = isInChunks ? { connection: 'close' } : {};
  response.writeHead(status, { 'content-type': 'application/json', ...connection, ...headers });
  if (typeof body === 'string') response.end(body);
  else if (isInChunks) await pipeline(Readable.from(body as Iterable<Uint8Array>), response);
  else response.end(JSON.stringify(body));
}
