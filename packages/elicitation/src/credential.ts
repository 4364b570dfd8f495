import { generationNumber } from './connection.ts';
import type { LocalText } from './elicitation.ts';
import type { CredentialId, ElicitationId, Subject } from './ids.ts';

/** A secret that a user typed and an MCP server may read repeatedly, owned like a connection. One per owner, subject and name. */
export interface Credential {
  readonly credentialId: CredentialId;
  /** Counts the sets of values, starting at 1, within one `createdAt`. */
  readonly generation: number;
  readonly owner: string;
  readonly subject: Subject;
  readonly name: string;
  /** As the MCP server wrote it; the user saw one of its languages. */
  readonly title: LocalText;
  /** Names of its values, in the order of the form. */
  readonly fields: readonly string[];
  /** JSON of the values by name, sealed by the vault before it reaches the store. */
  readonly sealedValues: string;
  readonly elicitationId: ElicitationId;
  /** Accurate to a minute. */
  readonly lastUse?: { readonly mcpServerId: string; readonly tool?: string; readonly at: number };
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** A typed secret, to be stored in the same commit that completes its elicitation. */
export type NewCredential = Omit<Credential, 'generation' | 'createdAt' | 'updatedAt' | 'lastUse'>;

export interface CredentialStore {
  read(credentialId: CredentialId): Promise<Credential | undefined>;
  /** Credentials of all owners, oldest first. */
  list(subject: Subject): Promise<readonly Credential[]>;
  /** Records the last reader. Does nothing if the credential is gone. */
  recordUse(p: {
    readonly credentialId: CredentialId;
    readonly use: { readonly mcpServerId: string; readonly tool?: string };
  }): Promise<void>;
  /** Deletes the credential. Returns undefined if there was none. */
  remove(credentialId: CredentialId): Promise<Credential | undefined>;
}

/**
 * Whether a stored credential answers a request: it has every requested field, and its values are not the rejected ones.
 * `generation` alone would repeat after a deletion, so the compared number also grows with the time of storage.
 */
export function answersCredential(
  credential: Credential,
  asked: { readonly fields: readonly { readonly name: string }[]; readonly rejectedGeneration?: number },
): boolean {
  return (
    asked.fields.every(field => credential.fields.includes(field.name)) &&
    generationNumber(credential) !== asked.rejectedGeneration
  );
}
