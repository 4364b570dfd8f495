import {
  type ApiKeyChange,
  type ApiKeyStore,
  type KeyAge,
  type KeyAgeStore,
  MAX_API_KEYS,
  MAX_REVOKED_API_KEYS,
  type NewApiKey,
  REVOKED_API_KEYS_MS,
  type RevokedConfigKey,
  type StoredApiKey,
} from '@postern/elicitation';
import type { Database } from './database.ts';
import { Records } from './records.ts';

/** A revoked key of the configuration stays: without it, the key would be valid again. */
export type ApiKeyRow = StoredApiKey & { readonly state: 'valid' | 'revoked' | 'revoked in configuration' };

export class SqliteApiKeyStore implements ApiKeyStore {
  readonly #database: Database;
  readonly #rows: Records<ApiKeyRow>;
  readonly #list: Records<{ readonly version: number }>;

  constructor(database: Database) {
    this.#database = database;
    this.#rows = new Records(database, 'api key', ({ state, createdAt, revoked }) => ({
      whose: state,
      rank: revoked?.at ?? createdAt,
      ...(state === 'revoked' && revoked !== undefined && { endsAt: revoked.at + REVOKED_API_KEYS_MS }),
    }));
    this.#list = new Records(database, 'api key list');
  }

  async add({ apiKeyId, mcpServerId, sealedDigest, name, lastFour, by, reason }: NewApiKey) {
    return this.#database.commit(() => {
      const known = this.#rows.get(apiKeyId);
      if (known !== undefined)
        return known.mcpServerId === mcpServerId && known.sealedDigest === sealedDigest ? 'added' : 'exists';
      if (this.#rows.sumOf('valid').count >= MAX_API_KEYS) return 'full';
      const added = { name, lastFour, by, reason };
      this.#put({ apiKeyId, mcpServerId, createdAt: this.#database.now(), added, sealedDigest, state: 'valid' });
      return 'added';
    });
  }

  async revoke(key: string | RevokedConfigKey, { by, reason }: ApiKeyChange) {
    return this.#database.commit(() => {
      const [apiKeyId, ofConfig] = typeof key === 'string' ? [key] : [key.apiKeyId, key];
      const at = this.#database.now();
      const known = this.#rows.get(apiKeyId);
      // The repeat of a call that has succeeded also returns `revoked`.
      if (known?.revoked !== undefined)
        return known.revoked.by === by && known.revoked.reason === reason ? 'revoked' : 'already';
      const found: StoredApiKey | undefined = known ?? (ofConfig && { ...ofConfig, createdAt: at });
      if (found === undefined) return 'unknown';
      const { sealedDigest: _, ...kept } = found;
      const state = ofConfig === undefined ? 'revoked' : 'revoked in configuration';
      this.#put({ ...kept, revoked: { at, by, reason }, state });
      return 'revoked';
    });
  }

  async read(knownVersion = '') {
    const version = String(this.#list.get('')?.version ?? '');
    if (version !== '' && version === knownVersion) return undefined;
    const rows = [
      ...this.#rows.of('valid'),
      ...this.#rows.newestOf('revoked', { limit: MAX_REVOKED_API_KEYS }),
      ...this.#rows.of('revoked in configuration'),
    ];
    return { version, apiKeys: rows.map(({ state: _, ...apiKey }) => apiKey) };
  }

  #put(row: ApiKeyRow): void {
    this.#rows.put(row.apiKeyId, row);
    this.#list.put('', { version: (this.#list.get('')?.version ?? 0) + 1 });
  }
}

export class SqliteKeyAges implements KeyAgeStore {
  readonly #database: Database;
  readonly #ages: Records<KeyAge & { readonly name: string }>;
  readonly #uses: Records<{ readonly name: string; readonly at: number }>;
  readonly #began: Records<number>;

  constructor(database: Database) {
    this.#database = database;
    this.#ages = new Records(database, 'key age', () => ({ whose: 'all' }));
    this.#uses = new Records(database, 'key use', () => ({ whose: 'all' }));
    this.#began = new Records(database, 'key ages');
  }

  async note(names: readonly string[]): Promise<void> {
    this.#database.commit(() => {
      const since = this.#database.now();
      // The first call cannot know how old its keys are.
      const isOrEarlier = this.#began.get('') === undefined;
      if (isOrEarlier) this.#began.put('', since);
      for (const name of names)
        if (this.#ages.get(name) === undefined) this.#ages.put(name, { name, since, isOrEarlier });
    });
  }

  async noteUse(name: string, at: number): Promise<void> {
    this.#database.commit(() => this.#uses.put(name, { name, at }));
  }

  async read() {
    return {
      ages: new Map(this.#ages.of('all').map(({ name, ...age }) => [name, age])),
      uses: new Map(this.#uses.of('all').map(({ name, at }) => [name, at])),
    };
  }
}
