import { createHash } from 'node:crypto';
import * as z from 'zod';
import { AuthorizationError } from '../authorization-error.ts';
import type { ClientKey, ClientRegistration } from '../client-authentication.ts';
import { clientChanged, type GrantOrigin } from '../client-registration.ts';
import { jsonDocument } from '../foreign-document.ts';
import { isSameUrl } from '../issuer.ts';
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
   * Returns the client for new grants of a redirect URI at this authorization server, and registers it on first use. Redirect URIs,
   * that is MCP servers and providers, never share a client (COAT, security A6). Nor do authorization servers (MCP, "Authorization
   * Server Binding").
   *
   * Uses MCP's order: Client ID Metadata Document, then dynamic registration (RFC 7591). A usable registration is kept even if the
   * authorization server supports more by now.
   *
   * @throws {AuthorizationError} `registration_unavailable`, `registration_refused`, `invalid_registration`,
   *   `provider_unavailable`, `outbound_…`; errors of the store.
   */
  register(metadata: ServerMetadata, redirectUri: URL): Promise<ClientRegistration>;
  /**
   * Returns the client that a grant was issued to, whatever the authorization server supports by now: also one that is retired or
   * whose secret has expired, because only the authorization server can say that it is refused. Undefined if its registration is gone.
   * Without a recorded client: the current one.
   *
   * @throws {AuthorizationError} `client_gone` if its key is no longer configured, `invalid_registration`; errors of the store.
   */
  find(origin: OriginAt): Promise<ClientRegistration | undefined>;
  /**
   * Makes room for another registration, for new grants. The grants of this client keep it. A client that is registered only recently
   * stays: another one would fare no better. So does one for which there is no room among the former clients.
   * @returns whether it is a former client now
   */
  retire(origin: ClientAt): Promise<boolean>;
  /**
   * Like `retire`, after refreshes of this client were refused since `since`: its grants have ended. Not if any replica has noted a use
   * since then.
   */
  giveUp(origin: ClientAt, since: number): Promise<boolean>;
  /**
   * Retires the client if the authorization server no longer knows it, which `isKnown` asks: at most once in ten minutes, for all replicas.
   * Only an answer that has changed counts: a server that does not know its newest client either says nothing by it.
   * @param isKnown resolves with undefined without a clear answer
   */
  retireIfUnknown(origin: ClientAt, isKnown: () => Promise<boolean | undefined>): Promise<boolean>;
  /** Notes that the authorization server has issued tokens to this client. Never rejects: the next use is noted instead. */
  noteUse(origin: ClientAt): Promise<void>;
}

/** A grant at a known authorization server. */
type OriginAt = GrantOrigin & { readonly issuer: string };
/** A grant with its client. */
type ClientAt = OriginAt & { readonly clientId: string };

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
  /** When this process last noted the use of a client, by the key of the note. */
  const noted = new Map<string, number>();
  const documentMethod = p.clientKey === undefined ? 'none' : 'private_key_jwt';

  async function forNewGrant(metadata: ServerMetadata, redirectUri: URL): Promise<ClientRegistration> {
    const current = await currentOf(metadata.issuer, redirectUri);
    if (current !== undefined) {
      const isKept =
        isUsable(current.registration) || !(await keepAsFormer(current, placeOf(metadata.issuer, redirectUri)));
      if (isKept) return credentials(current.registration);
    }
    return documentClient(metadata, redirectUri) ?? credentials(await register(metadata, redirectUri));
  }

  async function recordAt(place: RegistrationPlace, slot?: number): Promise<StoredRegistration | undefined> {
    const key = registrationKey(place, slot);
    const record = await p.store.read(key);
    return record === undefined ? undefined : { key, record, registration: parseRegistration(record, place) };
  }

  function currentOf(issuer: string, redirectUri: URL): Promise<StoredRegistration | undefined> {
    return recordAt(placeOf(issuer, redirectUri));
  }

  async function formerOf({ issuer, redirectUri, clientId }: ClientAt) {
    const place = placeOf(issuer, redirectUri);
    const formers = await Promise.all(formerSlots.map(slot => recordAt(place, slot)));
    return formers.find(former => former?.registration.clientId === clientId);
  }

  /**
   * Keeps the record under a second key before it removes the first: a crash in between loses no client. If all slots are taken, another
   * former client gives way whose secret has expired, or which serves no grant: the grants of the others would end.
   * @returns false if there is no room
   */
  async function keepAsFormer(current: StoredRegistration, place: RegistrationPlace): Promise<boolean> {
    const { clientId } = current.registration;
    const record = formatRegistration(current.registration, place);
    const mayGiveWay: ((older: DynamicRegistration) => boolean | Promise<boolean>)[] = [
      older => older.clientId === clientId,
      older => isExpired(older, p.now()),
      older => isUnused(place, older),
    ];
    for (const givesWay of mayGiveWay) {
      for (const slot of formerSlots) {
        const older = await recordAt(place, slot);
        if (older !== undefined && older.record !== record && (await givesWay(older.registration))) {
          await p.store.remove(older.key, older.record);
          if (older.registration.clientId !== clientId)
            await note(useKey(place, older.registration.clientId), undefined);
        }
        // Another replica may have kept another client in this slot meanwhile.
        if ((await p.store.putIfAbsent(registrationKey(place, slot), record)) !== record) continue;
        await p.store.remove(current.key, current.record);
        return true;
      }
    }
    return false;
  }

  /** Notes are records of their own, so that a note changes no registration. */
  async function note(key: string, value: string | undefined): Promise<void> {
    const before = await p.store.read(key);
    if (before !== undefined) await p.store.remove(key, before);
    if (value !== undefined) await p.store.putIfAbsent(key, value);
  }

  async function isUnused(place: RegistrationPlace, { clientId }: DynamicRegistration): Promise<boolean> {
    // A client without a note may serve grants: its replica may have died before the note. Its time begins now.
    const used = await p.store.putIfAbsent(useKey(place, clientId), String(p.now()));
    return used === NEVER_USED || p.now() - Number(used) >= UNUSED_MS;
  }

  async function isRecent(place: RegistrationPlace): Promise<boolean> {
    const registeredAt = await p.store.read(registrationKey(place, 'registered-at'));
    return registeredAt !== undefined && p.now() - Number(registeredAt) < RECENT_MS;
  }

  async function register(metadata: ServerMetadata, redirectUri: URL): Promise<DynamicRegistration> {
    const place = placeOf(metadata.issuer, redirectUri);
    const { fetch, now } = p;
    const made = await registerClient({ metadata, description: p.describe(redirectUri), redirectUri, fetch, now });
    const record = formatRegistration(made, place);
    // First, so that no replica finds the client without its time.
    await note(registrationKey(place, 'registered-at'), String(p.now()));
    const kept = await p.store.putIfAbsent(registrationKey(place), record);
    if (kept === record) {
      // Not if there is a note: an authorization server may give the same id again, whose grants go on.
      await p.store.putIfAbsent(useKey(place, made.clientId), NEVER_USED);
      return made;
    }
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

  /** The authorization server must be able to fetch the document. */
  function documentOf(redirectUri: URL): DynamicRegistration | undefined {
    const url = p.documentUrl(redirectUri);
    if (url === undefined || !isClientIdUrl(url) || isLoopbackHost(url.hostname)) return undefined;
    return { clientId: url.href, method: documentMethod };
  }

  function documentClient(metadata: ServerMetadata, redirectUri: URL): ClientRegistration | undefined {
    const { client_id_metadata_document_supported: isSupported, token_endpoint_auth_methods_supported: methods } =
      metadata;
    if (isSupported !== true || methods?.includes(documentMethod) === false) return undefined;
    const document = documentOf(redirectUri);
    return document && credentials(document);
  }

  /** @throws {AuthorizationError} `client_gone` */
  function credentials({ clientId, clientSecret, method }: DynamicRegistration): ClientRegistration {
    if (method === 'private_key_jwt' && p.clientKey === undefined) throw clientChanged();
    return {
      clientId,
      clientAuthentication: method,
      ...(clientSecret !== undefined && { clientSecret }),
      ...(method === 'private_key_jwt' && { clientKey: p.clientKey }),
    };
  }

  async function retire(origin: ClientAt): Promise<boolean> {
    const current = await currentOf(origin.issuer, origin.redirectUri);
    // Another replica may have stored a new client in the meantime: keep it.
    if (current?.registration.clientId !== origin.clientId) return (await formerOf(origin)) !== undefined;
    const place = placeOf(origin.issuer, origin.redirectUri);
    return !(await isRecent(place)) && keepAsFormer(current, place);
  }

  return {
    retire,

    register(metadata, redirectUri) {
      // One registration at a time per key in this process. Between processes, the store decides.
      const key = registrationKey(placeOf(metadata.issuer, redirectUri));
      const known = underWay.get(key);
      if (known) return known;
      const registration = forNewGrant(metadata, redirectUri).finally(() => underWay.delete(key));
      underWay.set(key, registration);
      return registration;
    },

    async find(origin) {
      const { issuer, redirectUri, clientId } = origin;
      const current = (await currentOf(issuer, redirectUri))?.registration;
      if (current !== undefined && (clientId ?? current.clientId) === current.clientId) return credentials(current);
      if (clientId === undefined) {
        const document = documentOf(redirectUri);
        return document && credentials(document);
      }
      const former = (await formerOf({ ...origin, clientId }))?.registration;
      if (former !== undefined) return credentials(former);
      // A Client ID Metadata Document has no record.
      const url = URL.parse(clientId);
      return url !== null && isClientIdUrl(url) ? credentials({ clientId, method: documentMethod }) : undefined;
    },

    async giveUp(origin, since) {
      const key = useKey(placeOf(origin.issuer, origin.redirectUri), origin.clientId);
      if (Number(await p.store.read(key)) > since || !(await retire(origin))) return false;
      noted.delete(key);
      await note(key, NEVER_USED);
      return true;
    },

    async retireIfUnknown(origin, isKnown) {
      const { issuer, redirectUri, clientId } = origin;
      const current = await currentOf(issuer, redirectUri);
      if (current?.registration.clientId !== clientId) return false;
      const key = registrationKey(placeOf(issuer, redirectUri), 'asked');
      const last = askedSchema.safeParse(jsonDocument((await p.store.read(key)) ?? '')).data;
      const before = last?.clientId === clientId ? last : undefined;
      if (before !== undefined && p.now() - before.at < ASKED_AGAIN_MS) return false;
      const noteAnswer = (wasKnown = before?.wasKnown) =>
        note(key, JSON.stringify({ clientId, at: p.now(), wasKnown } satisfies Asked));
      // First, so that no other start asks too.
      await noteAnswer();
      const known = await isKnown();
      if (known === false && before?.wasKnown !== false && (await retire(origin))) return true;
      if (known !== undefined && before?.wasKnown !== true) await noteAnswer(known);
      return false;
    },

    async noteUse({ issuer, redirectUri, clientId }) {
      // A Client ID Metadata Document needs no registration.
      if (clientId === documentOf(redirectUri)?.clientId) return;
      const key = useKey(placeOf(issuer, redirectUri), clientId);
      if (p.now() - (noted.get(key) ?? -Infinity) < NOTED_AGAIN_MS) return;
      noted.set(key, p.now());
      await note(key, String(p.now())).catch(() => noted.delete(key));
    },
  };
}

/** A client is retired at the earliest this long after its registration: an incident makes few clients. */
const RECENT_MS = 60 * 60_000;

/** How often an authorization server is asked whether it knows a client. */
const ASKED_AGAIN_MS = 10 * 60_000;
/** `wasKnown`: whether the server ever said that it knows this client; undefined without a clear answer yet. */
const askedSchema = z.strictObject({ clientId: z.string(), at: z.number(), wasKnown: z.boolean().optional() });
type Asked = z.infer<typeof askedSchema>;
/** How often a process notes that a client is in use. */
const NOTED_AGAIN_MS = 10 * 60_000;
/**
 * A former client that got no tokens for so long is removed when all slots are taken. An authorization server that loses its clients with
 * each restart fills the slots within days, and then no user could connect. The users of the removed client must authorize again.
 */
const UNUSED_MS = 7 * 24 * 60 * 60_000;
/** Instead of the time of its last use. */
const NEVER_USED = 'never';

/** Bounds what an authorization server that keeps replacing our client can store, per redirect URI. */
const formerSlots = Array.from({ length: 16 }, (_, slot) => slot);

type NoteName = 'registered-at' | 'asked' | `used ${string}`;

/** JSON encoding makes the key of each pair unique. */
function registrationKey({ issuer, redirectUri }: RegistrationPlace, slot?: number | NoteName): string {
  return createHash('sha256')
    .update(JSON.stringify(slot === undefined ? [issuer, redirectUri] : [issuer, redirectUri, slot]))
    .digest('base64url');
}

const useKey = (place: RegistrationPlace, clientId: string) => registrationKey(place, `used ${clientId}`);

/** The owner of a registration. Also stored in the record, to detect a record under a wrong key. */
interface RegistrationPlace {
  readonly issuer: string;
  readonly redirectUri: string;
}

interface StoredRegistration {
  readonly key: string;
  readonly record: string;
  readonly registration: DynamicRegistration;
}

/** The same if the metadata adds or drops the slash of an empty path: another client would end all grants. */
function placeOf(issuer: string, redirectUri: URL): RegistrationPlace {
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
  clientSecret: z.string().optional(),
  secretExpiresAt: z.number().optional(),
  management: z.strictObject({ url: z.string(), accessToken: z.string() }).optional(),
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
