import type { RECORD_LAYOUT } from './elicitation.ts';
import { generationNumber } from './generation-number.ts';
import type { CredentialId, ElicitationId } from './ids.ts';
import type { Subject } from './subject.ts';

/** A secret that a person typed and an MCP server may read again, owned like a connection. One per owner, subject and name. */
export interface Credential {
  readonly layout: typeof RECORD_LAYOUT;
  readonly credentialId: CredentialId;
  /** Counts the values typed in, starting at 1, within one `createdAt`. */
  readonly generation: number;
  readonly owner: string;
  readonly subject: Subject;
  readonly name: string;
  /** As the person was asked. */
  readonly title: string;
  /** Names of its values, in the order in which they were asked. */
  readonly fields: readonly string[];
  /** JSON of the values by name, sealed by the vault before it comes here. */
  readonly sealedValues: string;
  readonly elicitationId: ElicitationId;
  /** To the minute. */
  readonly lastUse?: { readonly mcpServerId: string; readonly tool?: string; readonly at: number };
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** A typed secret, to be stored in the same commit that completes its elicitation. */
export type NewCredential = Omit<Credential, 'layout' | 'generation' | 'createdAt' | 'updatedAt' | 'lastUse'>;

export interface CredentialStore {
  read(credentialId: CredentialId): Promise<Credential | undefined>;
  /** Those of every owner, oldest first. */
  list(subject: Subject): Promise<readonly Credential[]>;
  /** Remembers who read it last. Does nothing where it is gone. */
  noteUse(p: {
    readonly credentialId: CredentialId;
    readonly use: { readonly mcpServerId: string; readonly tool?: string };
  }): Promise<void>;
  /** Deletes it; undefined where nothing was there. */
  remove(credentialId: CredentialId): Promise<Credential | undefined>;
}

/**
 * Whether a stored credential answers an ask: it has every field that is asked for, and its values are not the ones that were
 * turned away. `generation` alone would be met again after deleting, so ours grows with the time of storing as well.
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
