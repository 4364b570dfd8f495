import { createHash } from 'node:crypto';
import * as z from 'zod';
import { AuthorizationError } from '../authorization-error.ts';
import type { ClientKey, ClientRegistration } from '../client-authentication.ts';
import { isSameUrl, rootedUrl } from '../issuer.ts';
import type { OutboundFetch } from '../outbound/outbound-fetch.ts';
import { isLoopbackHost } from '../outbound/outbound-policy.ts';
import type { ServerMetadata } from '../server-metadata.ts';
import { type ClientDescription, isClientIdUrl } from './client-metadata.ts';
import { type DynamicRegistration, deleteClient, registerClient } from './registration-endpoint.ts';

/**
 * Stores client registrations, shared by all replicas and without expiry. Keys are opaque (43 characters of base64url).
 * Values hold client secrets: an implementation must seal each value and bind it to its key.
 */
export interface ClientRegistrationStore {
  read(key: string): Promise<string | undefined>;
  /** Atomically stores the value if the key is absent. Returns the stored value. */
  putIfAbsent(key: string, value: string): Promise<string>;
  /** Atomically removes the value if it still equals `expected`. */
  remove(key: string, expected: string): Promise<void>;
}

/** A registered client that stays unused, because another replica stored its registration first. */
export interface UnusedClient {
  readonly issuer: string;
  readonly clientId: string;
  /** Whether the authorization server has deleted the client. Otherwise only the operator can delete it. */
  readonly deleted: boolean;
}

export interface DynamicClientRegistration {
  /**
   * Returns the client of a redirect URI at this authorization server, and registers it on first use. Redirect URIs, that is
   * MCP servers and providers, never share a client (COAT, security A6). Nor do authorization servers (MCP, "Authorization
   * Server Binding").
   *
   * Uses MCP's order: Client ID Metadata Document, then dynamic registration (RFC 7591). An existing registration is kept even
   * if the authorization server supports more by now, because tokens are issued to it.
   *
   * @throws {AuthorizationError} `registration_unavailable`, `registration_refused`, `invalid_registration`,
   *   `provider_unavailable`, `outbound_…`; errors of the store.
   */
  resolve(metadata: ServerMetadata, redirectUri: URL): Promise<ClientRegistration>;
  /**
   * Removes a registration that the authorization server no longer knows (`invalid_client`), so the next use registers a new
   * client. Grants to the old client are lost.
   */
  forget(metadata: ServerMetadata, redirectUri: URL, clientId: string): Promise<void>;
}

export function createDynamicClientRegistration(p: {
  /** Describes the MCP server of a redirect URI. Has a `jwksUri` exactly if there is a `clientKey`. */
  describe: (redirectUri: URL) => ClientDescription;
  /** URL of the Client ID Metadata Document of a redirect URI, or undefined if the gateway serves none. */
  documentUrl: (redirectUri: URL) => URL | undefined;
  clientKey?: ClientKey | undefined;
  store: ClientRegistrationStore;
  fetch: OutboundFetch;
  now: () => number;
  onUnusedClient: (client: UnusedClient) => void;
}): DynamicClientRegistration {
  const underWay = new Map<string, Promise<ClientRegistration>>();

  async function find(metadata: ServerMetadata, redirectUri: URL): Promise<ClientRegistration> {
    const known = await stored(metadata, redirectUri);
    if (known !== undefined) {
      if (isUsable(known.registration)) return credentials(known.registration);
      await p.store.remove(known.key, known.record);
    }
    return documentClient(metadata, redirectUri) ?? credentials(await register(metadata, redirectUri));
  }

  async function stored(metadata: ServerMetadata, redirectUri: URL) {
    // An earlier release kept the text of the metadata, also with the slash of an empty path.
    const asNamed = { issuer: rootedUrl(metadata.issuer), redirectUri: redirectUri.href };
    for (const place of [placeOf(metadata, redirectUri), asNamed]) {
      const key = registrationKey(place);
      const record = await p.store.read(key);
      if (record !== undefined) return { key, record, registration: parseRegistration(record, place) };
    }
    return undefined;
  }

  async function register(metadata: ServerMetadata, redirectUri: URL): Promise<DynamicRegistration> {
    const place = placeOf(metadata, redirectUri);
    const { fetch, now } = p;
    const made = await registerClient({ metadata, description: p.describe(redirectUri), redirectUri, fetch, now });
    const record = formatRegistration(made, place);
    const kept = await p.store.putIfAbsent(registrationKey(place), record);
    if (kept === record) return made;
    // Another replica was first. From now on, all replicas use its client.
    p.onUnusedClient({ issuer: metadata.issuer, clientId: made.clientId, deleted: await isDeleted(made) });
    return parseRegistration(kept, place);
  }

  function isUsable(registration: DynamicRegistration): boolean {
    if (registration.method === 'private_key_jwt' && p.clientKey === undefined) return false;
    return !isExpired(registration, p.now());
  }

  async function isDeleted({ management }: DynamicRegistration): Promise<boolean> {
    if (management === undefined) return false;
    // Report the failed deletion and continue: the waiting user has a usable client.
    return deleteClient(management, p.fetch).catch(() => false);
  }

  function documentClient(metadata: ServerMetadata, redirectUri: URL): ClientRegistration | undefined {
    if (metadata.client_id_metadata_document_supported !== true) return undefined;
    const url = p.documentUrl(redirectUri);
    // The authorization server must be able to fetch the document.
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
      // One registration at a time per key in this process. Between processes, the store decides.
      const key = registrationKey(placeOf(metadata, redirectUri));
      const known = underWay.get(key);
      if (known) return known;
      const registration = find(metadata, redirectUri).finally(() => underWay.delete(key));
      underWay.set(key, registration);
      return registration;
    },

    async forget(metadata, redirectUri, clientId) {
      const known = await stored(metadata, redirectUri);
      // Another replica may have stored a new client in the meantime: keep it.
      if (known?.registration.clientId === clientId) await p.store.remove(known.key, known.record);
    },
  };
}

/** JSON encoding makes the key of each pair unique. */
function registrationKey({ issuer, redirectUri }: RegistrationPlace): string {
  return createHash('sha256')
    .update(JSON.stringify([issuer, redirectUri]))
    .digest('base64url');
}

/** The owner of a registration. Also stored in the record, to detect a record under a wrong key. */
interface RegistrationPlace {
  readonly issuer: string;
  readonly redirectUri: string;
}

/** The same if the metadata adds or drops the slash of an empty path: another client would end all grants. */
function placeOf({ issuer }: ServerMetadata, redirectUri: URL): RegistrationPlace {
  const bare = issuer.replace(/\/$/, '');
  return { issuer: isSameUrl(bare, issuer) ? bare : issuer, redirectUri: redirectUri.href };
}

const layout = 1;

const recordSchema = z.strictObject({
  layout: z.literal(layout),
  issuer: z.string(),
  redirectUri: z.string(),
  clientId: z.string(),
  method: z.enum(['private_key_jwt', 'client_secret_basic', 'client_secret_post', 'none']),
  clientSecret: z.string().exactOptional(),
  secretExpiresAt: z.number().exactOptional(),
  management: z.strictObject({ url: z.string(), accessToken: z.string() }).exactOptional(),
});

function formatRegistration(registration: DynamicRegistration, place: RegistrationPlace): string {
  return JSON.stringify({ layout, ...place, ...registration } satisfies z.infer<typeof recordSchema>);
}

/** @throws {AuthorizationError} `invalid_registration` for an invalid record or one of another owner. */
function parseRegistration(record: string, place: RegistrationPlace): DynamicRegistration {
  let json: unknown;
  try {
    json = JSON.parse(record);
  } catch {
    throw new AuthorizationError('invalid_registration');
  }
  const parsed = recordSchema.safeParse(json);
  if (!parsed.success) throw new AuthorizationError('invalid_registration');
  const { layout: _, issuer, redirectUri, ...registration } = parsed.data;
  if (issuer !== place.issuer || redirectUri !== place.redirectUri)
    throw new AuthorizationError('invalid_registration');
  return registration;
}

/** @param now milliseconds since the epoch */
function isExpired({ secretExpiresAt }: DynamicRegistration, now: number): boolean {
  return secretExpiresAt !== undefined && secretExpiresAt <= now;
}
