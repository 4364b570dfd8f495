import { createHash } from 'node:crypto';
import type { ClientKey } from '../client-key.ts';
import type { ClientRegistration } from '../client-registration.ts';
import { isLoopbackHost } from '../outbound-address.ts';
import type { OutboundFetch } from '../outbound-fetch.ts';
import type { ServerMetadata } from '../server-metadata.ts';
import { type ClientDescription, isClientIdUrl } from './client-metadata.ts';
import type { ClientRegistrationStore } from './client-registration-store.ts';
import { type DynamicRegistration, deleteClient, registerClient } from './registration-endpoint.ts';
import { formatRegistration, isExpired, parseRegistration } from './registration-record.ts';

/** A client that was registered and that nobody uses, because another replica was first. */
export interface UnusedClient {
  readonly issuer: string;
  readonly clientId: string;
  /** Whether the authorization server has deleted it again. Otherwise it is for the operator to do, or nobody. */
  readonly deleted: boolean;
}

export interface DynamicClientRegistration {
  /**
   * The client that belongs to a redirect URI at this authorization server; registered at the first use. No client is
   * shared between redirect URIs, that is, between MCP servers or providers (COAT, security A6), and none between
   * authorization servers (MCP, "Authorization Server Binding").
   *
   * Order of MCP: Client ID Metadata Document, then dynamic registration (RFC 7591). A registration made earlier is kept
   * to, whatever the authorization server has learnt since: tokens are issued to it.
   *
   * @throws {AuthorizationError} `registration_unavailable`, `registration_refused`, `invalid_registration`,
   *   `provider_unavailable`, `outbound_…`; whatever the store throws.
   */
  resolve(metadata: ServerMetadata, redirectUri: URL): Promise<ClientRegistration>;
  /**
   * Removes a registration that the authorization server no longer knows (`invalid_client`), so that the next use makes a
   * new one. What was granted to the old client ends with it.
   */
  forget(metadata: ServerMetadata, redirectUri: URL, clientId: string): Promise<void>;
}

export function createDynamicClientRegistration(p: {
  /** Of the MCP server that a redirect URI belongs to. With a `jwksUri` exactly if there is a `clientKey`. */
  describe: (redirectUri: URL) => ClientDescription;
  /** Where the gateway serves the Client ID Metadata Document for a redirect URI. Undefined: nowhere. */
  documentUrl: (redirectUri: URL) => URL | undefined;
  clientKey?: ClientKey | undefined;
  store: ClientRegistrationStore;
  fetch: OutboundFetch;
  now: () => number;
  onUnusedClient: (client: UnusedClient) => void;
}): DynamicClientRegistration {
  const underWay = new Map<string, Promise<ClientRegistration>>();

  async function find(key: string, metadata: ServerMetadata, redirectUri: URL): Promise<ClientRegistration> {
    const place = { issuer: metadata.issuer, redirectUri: redirectUri.href };
    const known = await p.store.read(key);
    if (known !== undefined) {
      const registration = parseRegistration(known, place);
      if (isUsable(registration)) return credentials(registration);
      await p.store.remove(key, known);
    }
    return documentClient(metadata, redirectUri) ?? credentials(await register(key, metadata, redirectUri));
  }

  async function register(key: string, metadata: ServerMetadata, redirectUri: URL): Promise<DynamicRegistration> {
    const place = { issuer: metadata.issuer, redirectUri: redirectUri.href };
    const { fetch, now } = p;
    const made = await registerClient({ metadata, description: p.describe(redirectUri), redirectUri, fetch, now });
    const record = formatRegistration(made, place);
    const kept = await p.store.putIfAbsent(key, record);
    if (kept === record) return made;
    // Another replica was first. Its client is the one that every replica uses from now on.
    p.onUnusedClient({ issuer: metadata.issuer, clientId: made.clientId, deleted: await isDeleted(made) });
    return parseRegistration(kept, place);
  }

  function isUsable(registration: DynamicRegistration): boolean {
    if (registration.method === 'private_key_jwt' && p.clientKey === undefined) return false;
    return !isExpired(registration, p.now());
  }

  async function isDeleted({ management }: DynamicRegistration): Promise<boolean> {
    if (management === undefined) return false;
    // That it could not be deleted is what is reported; the person who waits has a client to go on with.
    return deleteClient(management, p.fetch).catch(() => false);
  }

  function documentClient(metadata: ServerMetadata, redirectUri: URL): ClientRegistration | undefined {
    if (metadata.client_id_metadata_document_supported !== true) return undefined;
    const url = p.documentUrl(redirectUri);
    // The authorization server has to read it, so it must be one that it can reach.
    if (url === undefined || !isClientIdUrl(url) || isLoopbackHost(url.hostname)) return undefined;
    const method = p.describe(redirectUri).jwksUri === undefined ? 'none' : 'private_key_jwt';
    if (metadata.token_endpoint_auth_methods_supported?.includes(method) === false) return undefined;
    return credentials({ clientId: url.href, method });
  }

  function credentials({ clientId, clientSecret, method }: DynamicRegistration): ClientRegistration {
    return {
      clientId,
      clientAuthentication: method,
      ...(clientSecret !== undefined && { clientSecret }),
      ...(method === 'private_key_jwt' && { clientKey: p.clientKey }),
    };
  }

  return {
    resolve(metadata, redirectUri) {
      // One at a time per key in this process; between processes the store decides.
      const key = registrationKey(metadata, redirectUri);
      const known = underWay.get(key);
      if (known) return known;
      const registration = find(key, metadata, redirectUri).finally(() => underWay.delete(key));
      underWay.set(key, registration);
      return registration;
    },

    async forget(metadata, redirectUri, clientId) {
      const key = registrationKey(metadata, redirectUri);
      const known = await p.store.read(key);
      if (known === undefined) return;
      const registration = parseRegistration(known, { issuer: metadata.issuer, redirectUri: redirectUri.href });
      // Meanwhile there may be a new one, which nobody has complained about.
      if (registration.clientId === clientId) await p.store.remove(key, known);
    },
  };
}

/** JSON keeps the two apart: no pair of them gives the text of another pair. */
function registrationKey({ issuer }: ServerMetadata, redirectUri: URL): string {
  return createHash('sha256')
    .update(JSON.stringify([issuer, redirectUri.href]))
    .digest('base64url');
}
