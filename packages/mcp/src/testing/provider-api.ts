import { createHash } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { calculateJwkThumbprint, EmbeddedJWK, errors, jwtVerify } from 'jose';

export interface ApiRequest {
  readonly method: string;
  readonly path: string;
  readonly body: string;
  readonly headers: IncomingHttpHeaders;
  readonly token: string;
  readonly status: number;
}

/** A provider's API on loopback that verifies tokens and proofs (RFC 6750, RFC 9449 section 4.3). */
export class ProviderApi implements AsyncDisposable {
  readonly requests: ApiRequest[] = [];
  /** Whether an access token is valid. */
  accepts: (token: string) => boolean;
  /** Thumbprint of the key that tokens are bound to; absent for bearer tokens. */
  boundTo: string | undefined;
  /** The nonce that proofs must carry. */
  nonce: string | undefined;
  /** `WWW-Authenticate` of a refusal. Default: the usual one. */
  challenge: string | undefined;
  /** Target of the redirect at `/moved`. */
  location = '/elsewhere';
  /** Called before a request is checked. */
  onRequest: (path: string) => void | Promise<void> = () => undefined;
  readonly #proofs = new Set<string>();
  readonly #httpServer = createServer((request, response) => void this.#serve(request, response));

  constructor(accepts: (token: string) => boolean) {
    this.accepts = accepts;
  }

  async listen(): Promise<this> {
    await new Promise<void>(resolve => this.#httpServer.listen(0, '127.0.0.1', resolve));
    return this;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#httpServer.address() as AddressInfo).port}`;
  }

  get statuses(): number[] {
    return this.requests.map(({ status }) => status);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#httpServer.closeAllConnections();
    await new Promise(resolve => this.#httpServer.close(resolve));
  }

  async #serve(request: IncomingMessage, response: ServerResponse) {
    const { pathname } = new URL(request.url ?? '/', this.url);
    const body = await text(request);
    await this.onRequest(pathname);
    const [scheme = '', token = ''] = (request.headers.authorization ?? '').split(' ');
    const fault =
      this.boundTo === undefined ? this.#bearerFault(scheme, token) : await this.#proofFault(request, token);
    const status = fault !== undefined ? 401 : pathname === '/moved' ? 302 : 200;
    const { method = '', url: path = '', headers } = request;
    this.requests.push({ method, path, headers, body, token, status });
    response
      .writeHead(status, {
        ...(status === 302 ? { location: this.location } : {}),
        ...(this.nonce === undefined ? {} : { 'dpop-nonce': this.nonce }),
        ...(fault === undefined
          ? {}
          : { 'www-authenticate': this.challenge ?? `${scheme} realm="api", error="${fault}"` }),
      })
      .end(fault ?? 'done');
  }

  #bearerFault(scheme: string, token: string): string | undefined {
    return scheme === 'Bearer' && this.accepts(token) ? undefined : 'invalid_token';
  }

  async #proofFault(request: IncomingMessage, token: string): Promise<string | undefined> {
    const { dpop, authorization = '' } = request.headers;
    if (typeof dpop !== 'string' || !authorization.startsWith('DPoP ')) return 'invalid_token';
    try {
      const { payload, protectedHeader } = await jwtVerify(dpop, EmbeddedJWK, {
        typ: 'dpop+jwt',
        algorithms: ['ES256'],
        maxTokenAge: 60,
      });
      const target = new URL(request.url ?? '/', this.url);
      const { htm, htu, ath, jti } = payload;
      const isSound =
        protectedHeader.jwk !== undefined &&
        (await calculateJwkThumbprint(protectedHeader.jwk)) === this.boundTo &&
        htm === request.method &&
        htu === `${target.origin}${target.pathname}` &&
        ath === createHash('sha256').update(token).digest('base64url') &&
        typeof jti === 'string' &&
        !this.#proofs.has(jti);
      if (!isSound) return 'invalid_dpop_proof';
      this.#proofs.add(jti);
      if (this.nonce !== undefined && payload['nonce'] !== this.nonce) return 'use_dpop_nonce';
    } catch (error) {
      if (error instanceof errors.JOSEError) return 'invalid_dpop_proof';
      throw error;
    }
    return this.accepts(token) ? undefined : 'invalid_token';
  }
}
