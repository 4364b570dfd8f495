import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair } from 'jose';
import type { ClientKey } from '../client-authentication.ts';
import { createOutboundFetch } from '../outbound/outbound-fetch.ts';
import { createDynamicClientRegistration, type UnusedClient } from '../registration/dynamic-client-registration.ts';
import type { ServerMetadata } from '../server-metadata.ts';
import { canaries } from './failure-of.ts';
import { createMemoryRegistrationStore } from './memory-registration-store-fixture.ts';

const fetch = createOutboundFetch({ allowLoopback: true });

export const redirectUri = new URL('https://postern.example/callback/issues/tracker');
export const otherRedirectUri = new URL('https://postern.example/callback/wiki/tracker');

interface Asked {
  readonly method: string;
  readonly path: string;
  readonly authorization: string | undefined;
  readonly body: Record<string, unknown>;
}

/** A registration endpoint that gives valid responses unless the test overrides them. */
export class RegistrationEndpoint {
  readonly asked: Asked[] = [];
  status = 201;
  /** Changes to the honest response; `undefined` omits a member. */
  changes: Record<string, unknown> = {};
  deletion = 204;
  origin = '';
  close = async () => {};
  /** Number of concurrent requests that the endpoint waits for before it responds. */
  together = 1;
  readonly #waiting: (() => void)[] = [];

  async start(): Promise<this> {
    const httpServer = createServer(async (request, response) => {
      let text = '';
      for await (const chunk of request.setEncoding('utf8')) text += chunk;
      const body: Record<string, unknown> = text === '' ? {} : JSON.parse(text);
      const { method = '', url: path = '', headers } = request;
      this.asked.push({ method, path, authorization: headers.authorization, body });
      const clientId = `client-${this.asked.length}`;
      await this.#everybody();
      if (method === 'DELETE') response.writeHead(this.deletion).end();
      else response.writeHead(this.status).end(JSON.stringify({ ...this.#honest(clientId, body), ...this.changes }));
    });
    await once(httpServer.listen(0, '127.0.0.1'), 'listening');
    this.origin = `http://localhost:${(httpServer.address() as AddressInfo).port}`;
    this.close = async () => {
      httpServer.closeAllConnections();
      await once(httpServer.close(), 'close');
    };
    return this;
  }

  async #everybody(): Promise<void> {
    if (this.asked.length >= this.together) {
      for (const answer of this.#waiting.splice(0)) answer();
      return;
    }
    await new Promise<void>(resolve => this.#waiting.push(resolve));
  }

  #honest(clientId: string, body: Record<string, unknown>): Record<string, unknown> {
    const hasSecret = String(body['token_endpoint_auth_method']).startsWith('client_secret');
    return {
      ...body,
      client_id: clientId,
      ...(hasSecret && { client_secret: canaries.clientSecret, client_secret_expires_at: 0 }),
      registration_client_uri: `${this.origin}/register/${clientId}`,
      registration_access_token: canaries.accessToken,
    };
  }

  metadata(changes: Partial<ServerMetadata> = {}): ServerMetadata {
    return {
      issuer: this.origin,
      authorization_endpoint: `${this.origin}/authorize`,
      token_endpoint: `${this.origin}/token`,
      registration_endpoint: `${this.origin}/register`,
      ...changes,
    };
  }

  get posted(): Record<string, unknown>[] {
    return this.asked.filter(({ method }) => method === 'POST').map(({ body }) => body);
  }
}

const { privateKey } = await generateKeyPair('ES256', { extractable: true });
export const clientKey: ClientKey = { jwk: await exportJWK(privateKey), algorithm: 'ES256', kid: 'our-key' };
export const jwksUri = 'https://postern.example/oauth/clients/issues/tracker/jwks.json';

/** For tests: a process of the gateway, with its own store or a shared one. */
export function replica(
  store = createMemoryRegistrationStore(),
  p: { clientKey?: ClientKey; now?: () => number; documentUrl?: (redirectUri: URL) => URL | undefined } = {},
) {
  const unused: UnusedClient[] = [];
  const registration = createDynamicClientRegistration({
    describe: () => ({ clientName: 'Issue Tracker', ...(p.clientKey && { jwksUri }) }),
    documentUrl: p.documentUrl ?? (() => undefined),
    clientKey: p.clientKey,
    store,
    fetch,
    now: p.now ?? (() => 0),
    onUnusedClient: client => unused.push(client),
  });
  return { ...registration, store, unused };
}
