import type {
  CredentialBody,
  CredentialValuesBody,
  IssueElicitation,
  listCredentialsQuerySchema,
  ProblemCode,
  ReadCredentialRequest,
} from '@postern/api';
import type { JWK } from 'jose';
import type { z } from 'zod/v4';
import { seal } from './contract-sealing.ts';

type CredentialIssue = Extract<IssueElicitation, { kind: 'credential' }>;

interface StoredCredential {
  readonly credentialId: string;
  readonly elicitationId: string;
  readonly subject: IssueElicitation['subject'];
  readonly name: string;
  readonly generation: number;
  readonly values: Readonly<Record<string, string>>;
  readonly updatedAt: string;
}

/** Lasting credentials according to the contract: one per subject and name. */
export class ContractCredentials {
  #stored: readonly StoredCredential[] = [];
  #generations = 0;
  /** The tool of each read, in order. */
  readonly tools: (string | undefined)[] = [];
  /** Changes a response on its way, like a proxy between gateway and MCP server. */
  tamper: (answer: CredentialValuesBody) => CredentialValuesBody = answer => answer;
  encryptionKey: () => JWK | undefined = () => undefined;

  put(
    elicitationId: string,
    { subject, credential: { name } }: CredentialIssue,
    values: Readonly<Record<string, string>>,
    updatedAt: string,
  ): string {
    const credentialId = `cr-${name}-${JSON.stringify(subject)}`;
    this.#generations += 1;
    const stored = {
      credentialId,
      elicitationId,
      subject,
      name,
      generation: this.#generations,
      values,
      updatedAt,
    };
    this.#stored = [...this.#stored.filter(other => other.credentialId !== credentialId), stored];
    return credentialId;
  }

  /** Returns the stored credential that answers the ask. */
  serving({ subject, credential }: CredentialIssue): StoredCredential | undefined {
    return this.#stored.find(
      stored =>
        stored.name === credential.name &&
        JSON.stringify(stored.subject) === JSON.stringify(subject) &&
        credential.fields.every(({ name }) => Object.hasOwn(stored.values, name)) &&
        stored.generation !== credential.rejectedGeneration,
    );
  }

  list({ issuer, subject, name }: z.infer<typeof listCredentialsQuerySchema>): CredentialBody[] {
    return this.#stored
      .filter(stored => 'issuer' in stored.subject && stored.subject.issuer === issuer)
      .filter(stored => 'subject' in stored.subject && stored.subject.subject === subject)
      .filter(stored => name === undefined || stored.name === name)
      .map(stored => ({ ...factsOf(stored), createdAt: stored.updatedAt, updatedAt: stored.updatedAt }));
  }

  async read(credentialId: string, request: ReadCredentialRequest): Promise<CredentialValuesBody | ProblemCode> {
    const stored = this.#stored.find(one => one.credentialId === credentialId);
    if (stored === undefined) return 'not_found';
    const isSealed = request.sealed === true;
    if (isSealed && this.encryptionKey() === undefined) return 'encryption_key_not_registered';
    this.tools.push(request.tool);
    if (!isSealed) return this.tamper({ ...factsOf(stored), values: { ...stored.values } });
    const header = { typ: 'postern-credential+jwe', credentialId, generation: stored.generation };
    return this.tamper({
      ...factsOf(stored),
      sealedValues: await seal(JSON.stringify(stored.values), this.encryptionKey(), header),
    });
  }

  /** The user deletes all credentials, or the MCP server deletes one. */
  remove(credentialId?: string): boolean {
    const left = credentialId === undefined ? [] : this.#stored.filter(one => one.credentialId !== credentialId);
    const isRemoved = left.length < this.#stored.length;
    this.#stored = left;
    return isRemoved;
  }
}

function factsOf({ credentialId, name, generation, values }: StoredCredential) {
  return { credentialId, name, generation, fields: Object.keys(values) };
}
