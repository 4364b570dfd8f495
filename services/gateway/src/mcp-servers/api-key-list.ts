import type { ApiKeyStore, StoredApiKey } from '@postern/elicitation';
import { kidOf, type Vault, VaultError } from '@postern/vault';
import { ProblemError } from '../platform/http/problems.ts';
import type { Logger } from '../platform/logger.ts';
import { periodic } from '../platform/periodic.ts';
import { apiKeyContext } from '../sealing/seal-contexts.ts';

/** The API keys of the store, and the revoked ones of the configuration, as this replica last read them. */
export interface ApiKeyList {
  /**
   * Returns the id and the MCP server of a valid key of the store.
   * @param digest SHA-256 of the key, in hex
   * @throws ProblemError `api_keys_unavailable` if the list is too old or incomplete: the key may have been added or revoked
   */
  find(digest: string): { readonly apiKeyId: string; readonly mcpServerId: string } | undefined;
  /** Whether a key of the configuration is revoked. An old list still counts. */
  isRevoked(digest: string): boolean;
  /** Returns the id of a key of the store that was valid since this replica started, and is not any more. */
  idOfWithdrawn(digest: string): string | undefined;
  /** Whether a key of the store is valid according to a list that is not too old. */
  isValid(digest: string): boolean;
}

export interface ApiKeyWatch extends ApiKeyList {
  stop(): Promise<void>;
}

/** Interval of the reads, in ms. With the duration of a read, a change arrives within 500 ms. */
const READ_EVERY_MS = 300;
/** Maximum age of the list, in ms, counted from when its last successful read was sent. */
const MAX_AGE_MS = 1_000;
/** Time until a key that does not open is tried again, in ms: its key service may have responded wrongly. */
const RETRY_DAMAGED_MS = 300_000;
/** Retry delay for callers, in ms. */
const RETRY_MS = 1_000;
/** Keys that are opened at the same time: a key service has to answer users meanwhile. */
const OPEN_AT_ONCE = 8;

/** Withdrawn keys whose id is known, for the audit lines of callers that still use them. */
const MAX_WITHDRAWN = 10_000;

interface ApiKeyWatchOptions {
  readonly apiKeys: Pick<ApiKeyStore, 'read'>;
  readonly vault: Pick<Vault, 'open'>;
  readonly logger: Pick<Logger, 'info' | 'warn' | 'error'>;
  /** Called after keys were revoked, and when the list becomes too old. */
  readonly onWithdrawn: () => void;
  /** Milliseconds of a clock that is never set. */
  readonly monotonic?: () => number;
}

/**
 * Reads the list of API keys and keeps reading it, so a request needs no Redis. Resolves after the first read, even a failed one:
 * without a list, every key of the store is refused.
 */
export async function startApiKeyWatch(options: ApiKeyWatchOptions): Promise<ApiKeyWatch> {
  const { apiKeys, vault, logger, onWithdrawn, monotonic = () => performance.now() } = options;
  let version: string | undefined;
  let readAt = Number.NEGATIVE_INFINITY;
  let isFailing = false;
  /** By digest. */
  let valid: ReadonlyMap<string, { readonly apiKeyId: string; readonly mcpServerId: string }> = new Map();
  let revoked: ReadonlySet<string> = new Set();
  /** Ids by digest, the last `MAX_WITHDRAWN`: Redis deletes the digest of a revoked key. */
  const withdrawnIds = new Map<string, string>();
  /** Digests by id. A key keeps its digest, so each is opened once. Undefined for a key that does not open. */
  const digests = new Map<string, string | undefined>();
  /** When keys that did not open are tried again, by id. */
  const retryAt = new Map<string, number>();
  /** Keys that are not open yet. */
  let sealed: readonly StoredApiKey[] = [];
  /** Vault keys whose key service did not respond when it was last asked. */
  const awayKids = new Set<string>();
  let opening: Promise<void> | undefined;
  let listed: readonly StoredApiKey[] = [];

  const isFresh = () => monotonic() - readAt <= MAX_AGE_MS;
  const overAge = setTimeout(onWithdrawn, MAX_AGE_MS).unref();

  /** Serves the keys that are open. */
  function publish(): void {
    const before = valid;
    valid = new Map(
      listed.flatMap(({ apiKeyId, mcpServerId, sealedDigest }) => {
        const digest = sealedDigest === undefined ? undefined : digests.get(apiKeyId);
        return digest === undefined ? [] : [[digest, { apiKeyId, mcpServerId }] as const];
      }),
    );
    const revokedBefore = revoked;
    revoked = new Set(listed.flatMap(({ digest, revoked }) => (revoked === undefined ? [] : (digest ?? []))));
    const withdrawn = [...before].filter(([digest]) => !valid.has(digest));
    for (const [digest, { apiKeyId }] of withdrawn) withdrawnIds.set(digest, apiKeyId);
    for (const digest of withdrawnIds.keys()) {
      if (withdrawnIds.size <= MAX_WITHDRAWN) break;
      withdrawnIds.delete(digest);
    }
    const isRevokedNow = [...revoked].some(digest => !revokedBefore.has(digest));
    if (withdrawn.length > 0 || isRevokedNow) onWithdrawn();
  }

  /** @returns false if the key service does not respond */
  async function openOne({ apiKeyId, mcpServerId, sealedDigest = '' }: StoredApiKey): Promise<boolean> {
    try {
      digests.set(apiKeyId, await vault.open(sealedDigest, apiKeyContext({ id: apiKeyId, mcpServerId })));
    } catch (error) {
      if (!(error instanceof VaultError)) throw error;
      // A key service that does not respond may respond later. Every other fault makes the key invalid until the next attempt.
      if (error.code === 'key_service_unavailable') return false;
      digests.set(apiKeyId, undefined);
      retryAt.set(apiKeyId, monotonic() + RETRY_DAMAGED_MS);
      logger.error({ event: 'api_keys.damaged', apiKeyId, code: error.code }, 'an API key of the store does not open');
    }
    return true;
  }

  /** Stops at the first key that the key service does not open. The next round then tries one key, not all. */
  async function openEach(kid: string, apiKeys: readonly StoredApiKey[]): Promise<void> {
    for (let at = 0; at < apiKeys.length; ) {
      const batch = apiKeys.slice(at, at + (awayKids.has(kid) ? 1 : OPEN_AT_ONCE));
      const results = await Promise.allSettled(batch.map(openOne));
      awayKids.delete(kid);
      if (results.some(result => result.status === 'rejected' || !result.value)) {
        awayKids.add(kid);
        return;
      }
      at += batch.length;
    }
  }

  /** By vault key, because one key service may be away while another responds. */
  async function openAll(apiKeys: readonly StoredApiKey[]): Promise<void> {
    const byKid = Map.groupBy(apiKeys, ({ sealedDigest = '' }) => namedKid(sealedDigest));
    await Promise.all([...byKid].map(([kid, group]) => openEach(kid, group)));
  }

  /** Opens in the background, because a slow key service must delay no revocation. */
  function openSealed(): Promise<void> {
    for (const [apiKeyId, at] of retryAt) {
      if (at > monotonic()) break;
      retryAt.delete(apiKeyId);
      digests.delete(apiKeyId);
    }
    sealed = listed.filter(({ apiKeyId, sealedDigest }) => sealedDigest !== undefined && !digests.has(apiKeyId));
    if (sealed.length > 0)
      opening ??= openAll(sealed).then(() => {
        opening = undefined;
        sealed = listed.filter(({ apiKeyId, sealedDigest }) => sealedDigest !== undefined && !digests.has(apiKeyId));
        publish();
      });
    return opening ?? Promise.resolve();
  }

  async function readOnce(): Promise<void> {
    const began = monotonic();
    const page = await apiKeys.read(version);
    if (page !== undefined) {
      version = page.version;
      listed = page.apiKeys;
      const ids = new Set(listed.map(({ apiKeyId }) => apiKeyId));
      for (const apiKeyId of digests.keys()) if (!ids.has(apiKeyId)) digests.delete(apiKeyId);
      publish();
    }
    readAt = began;
    overAge.refresh();
  }

  async function round(): Promise<void> {
    try {
      await readOnce();
      if (isFailing) logger.info({ event: 'api_keys.read' }, 'list of API keys read again');
      isFailing = false;
    } catch (error) {
      if (!isFailing) logger.warn({ event: 'api_keys.unread', error }, 'reading the list of API keys failed; retrying');
      isFailing = true;
    }
  }

  await round();
  await openSealed();
  // A slow Redis delays the next read, and makes the list too old.
  const reading = periodic({
    every: READ_EVERY_MS,
    async run() {
      await round();
      void openSealed();
    },
  });

  return {
    find(digest) {
      const found = valid.get(digest);
      if (!isFresh() || (found === undefined && sealed.length > 0))
        throw new ProblemError('api_keys_unavailable', { retryAfterMs: RETRY_MS });
      return found;
    },
    isRevoked: digest => revoked.has(digest),
    idOfWithdrawn: digest => withdrawnIds.get(digest),
    isValid: digest => isFresh() && valid.has(digest),
    async stop() {
      await reading.stop();
      clearTimeout(overAge);
    },
  };
}

/** @returns '' for a value that names no vault key, which does not open */
function namedKid(sealed: string): string {
  try {
    return kidOf(sealed);
  } catch (error) {
    if (error instanceof VaultError) return '';
    throw error;
  }
}
