import {
  type Credential,
  type CredentialId,
  type CredentialStore,
  isUseNoted,
  type NewCredential,
  oldestFirst,
  type Subject,
  shardIn,
} from '@postern/elicitation';
import type { Database } from './database.ts';
import type { Ledger } from './ledger.ts';
import { keyOf, listOf, Records } from './records.ts';

export class SqliteCredentialStore implements CredentialStore {
  readonly #database: Database;
  readonly #ledger: Ledger;
  readonly #rows: Records<Credential>;

  constructor(database: Database, ledger: Ledger) {
    this.#database = database;
    this.#ledger = ledger;
    this.#rows = new Records(database, 'credential', ({ subject, credentialId, updatedAt }) => ({
      whose: keyOf(subject),
      list: listOf('credentials', shardIn(credentialId)),
      rank: updatedAt,
    }));
  }

  get(credentialId: CredentialId): Credential | undefined {
    return this.#rows.get(credentialId);
  }

  /** Called within the commit that completes an elicitation. */
  put(credential: NewCredential, now: number): void {
    const earlier = this.get(credential.credentialId);
    this.#rows.put(credential.credentialId, {
      ...credential,
      generation: (earlier?.generation ?? 0) + 1,
      ...(earlier?.lastUse === undefined ? {} : { lastUse: earlier.lastUse }),
      createdAt: earlier?.createdAt ?? now,
      updatedAt: now,
    });
  }

  async read(credentialId: CredentialId): Promise<Credential | undefined> {
    return this.get(credentialId);
  }

  async list(subject: Subject): Promise<readonly Credential[]> {
    return this.#rows.of(keyOf(subject)).sort(oldestFirst(({ credentialId: id, createdAt: at }) => ({ id, at })));
  }

  async recordUse({ credentialId, use }: Parameters<CredentialStore['recordUse']>[0]): Promise<void> {
    this.#database.commit(() => {
      const at = this.#database.now();
      const credential = this.get(credentialId);
      if (credential === undefined || isUseNoted(credential, use, at)) return;
      this.#rows.put(credentialId, { ...credential, lastUse: { ...use, at } });
    });
  }

  async remove(credentialId: CredentialId): Promise<Credential | undefined> {
    return this.#database.commit(() => {
      const credential = this.get(credentialId);
      if (credential === undefined) return undefined;
      this.#rows.delete(credentialId);
      this.#ledger.release(shardIn(credentialId), credential.owner, credentialId);
      return credential;
    });
  }
}
