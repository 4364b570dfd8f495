import {
  type Clock,
  type Credential,
  type CredentialId,
  type CredentialStore,
  isSameSubject,
  isUseNoted,
  type ListEntry,
  type NewCredential,
  type Subject,
  shardIn,
} from '@postern/elicitation';
import type { MemoryLedger } from './memory-ledger.ts';

/** The credential port in one process. Atomic, because no verb awaits anything. */
export class MemoryCredentialStore implements CredentialStore {
  readonly #now: Clock;
  readonly #ledger: MemoryLedger;
  readonly #rows = new Map<CredentialId, Credential>();

  constructor(now: Clock, ledger: MemoryLedger) {
    this.#now = now;
    this.#ledger = ledger;
  }

  get(credentialId: CredentialId): Credential | undefined {
    return this.#rows.get(credentialId);
  }

  /** Called by the transition that completes an elicitation. */
  put(credential: NewCredential, now: number): void {
    const earlier = this.get(credential.credentialId);
    this.#rows.set(credential.credentialId, {
      ...credential,
      generation: (earlier?.generation ?? 0) + 1,
      ...(earlier?.lastUse === undefined ? {} : { lastUse: earlier.lastUse }),
      createdAt: earlier?.createdAt ?? now,
      updatedAt: now,
    });
  }

  /** All credentials, for the lists of operators. */
  entries(): readonly ListEntry[] {
    return [...this.#rows].map(([id, { updatedAt }]) => ({ id, at: updatedAt }));
  }

  async read(credentialId: CredentialId): Promise<Credential | undefined> {
    return this.get(credentialId);
  }

  async list(subject: Subject): Promise<readonly Credential[]> {
    return [...this.#rows.values()]
      .filter(credential => isSameSubject(credential.subject, subject))
      .sort((a, b) => a.createdAt - b.createdAt || (a.credentialId < b.credentialId ? -1 : 1));
  }

  async recordUse({ credentialId, use }: Parameters<CredentialStore['recordUse']>[0]): Promise<void> {
    const now = this.#now();
    const credential = this.get(credentialId);
    if (credential === undefined || isUseNoted(credential, use, now)) return;
    this.#rows.set(credentialId, { ...credential, lastUse: { ...use, at: now } });
  }

  async remove(credentialId: CredentialId): Promise<Credential | undefined> {
    const credential = this.get(credentialId);
    this.#rows.delete(credentialId);
    if (credential !== undefined) this.#ledger.release(shardIn(credentialId), credential.owner, credentialId);
    return credential;
  }
}
