import { createHmac } from 'node:crypto';
import type { CredentialValuesBody, ReadCredentialRequest } from '@postern/api';
import {
  type Clock,
  type Credential,
  type CredentialId,
  generationNumber,
  isUseNoted,
  NotFoundError,
  type Stores,
} from '@postern/elicitation';
import type { Vault } from '@postern/vault';
import { z } from 'zod';
import { mayRead, type RegisteredMcpServer } from '../mcp-servers/registered-mcp-server.ts';
import type { AuditLog } from '../platform/audit/audit-events.ts';
import { type RemovedBy, removedBy } from '../platform/audit/audit-log.ts';
import type { GatewayConfig } from '../platform/config/config-schema.ts';
import { sharedKeyFor } from '../platform/config/vault-config.ts';
import { ProblemError } from '../platform/http/problems.ts';
import { credentialContext } from '../sealing/seal-contexts.ts';
import { sealFor } from '../sealing/sealed-delivery.ts';
import type { CredentialValues } from './credential-entry.ts';

const valuesSchema = z.record(z.string(), z.string());

/** The user at `/me`, or an MCP server through the API. */

/** Reads and deletes lasting credentials. */
export function createCredentialFlow(p: {
  config: Pick<GatewayConfig, 'vault'>;
  stores: Pick<Stores, 'credentials'>;
  vault: Vault;
  auditLog: AuditLog;
  now: Clock;
}) {
  const { credentials } = p.stores;
  const fingerprintKey = sharedKeyFor(p.config, 'postern fingerprints of credentials, 1');

  async function open(credential: Credential): Promise<CredentialValues> {
    return valuesSchema.parse(JSON.parse(await p.vault.open(credential.sealedValues, credentialContext(credential))));
  }

  /** @throws NotFoundError also if the caller may not read the credential */
  async function findReadable(caller: RegisteredMcpServer, credentialId: CredentialId): Promise<Credential> {
    const credential = await credentials.read(credentialId);
    if (credential === undefined || !mayRead(caller, credential)) throw new NotFoundError('credential');
    return credential;
  }

  return {
    /** @throws NotFoundError, ProblemError `encryption_key_not_registered` */
    async read(
      caller: RegisteredMcpServer,
      credentialId: CredentialId,
      { tool, sealed }: ReadCredentialRequest,
    ): Promise<CredentialValuesBody> {
      const { encryption } = caller.config;
      if (sealed === true && encryption === undefined) throw new ProblemError('encryption_key_not_registered');
      const credential = await findReadable(caller, credentialId);
      const { mcpServerId } = caller;
      const [values] = await Promise.all([open(credential), recordUse(credential, mcpServerId, tool)]);
      const generation = generationNumber(credential);
      const facts = { credentialId, name: credential.name, fields: [...credential.fields], generation };
      p.auditLog.record('credential.read', { credentialId, mcpServerId, subject: credential.subject });
      if (encryption === undefined || (sealed !== true && !encryption.required)) return { ...facts, values };
      const sealedValues = await sealFor(encryption.key, JSON.stringify(values), {
        type: 'credential',
        mcpServerId,
        credentialId,
        generation,
      });
      return { ...facts, sealedValues };
    },

    /** @throws NotFoundError */
    async remove(caller: RegisteredMcpServer, credentialId: CredentialId): Promise<void> {
      await this.delete(await findReadable(caller, credentialId), { mcpServerId: caller.mcpServerId });
    },

    /** @throws NotFoundError if it has been deleted */
    async delete({ credentialId, subject }: Credential, by: RemovedBy): Promise<void> {
      if ((await credentials.remove(credentialId)) === undefined) throw new NotFoundError('credential');
      p.auditLog.record('credential.deleted', { credentialId, subject, ...removedBy(by) });
    },

    /**
     * Returns eight hexadecimal digits by which the user can distinguish credentials. They are derived, under a key of the deployment, from
     * the values, the credential id and the time of the values: a person or program that sees them cannot try out short secrets, and
     * values that are typed again cannot be compared with deleted ones. Computed on each call and never stored.
     */
    async fingerprint(credential: Credential): Promise<string> {
      const values = await open(credential);
      const digest = createHmac('sha256', fingerprintKey)
        .update(
          JSON.stringify([
            ...[credential.credentialId, credential.updatedAt],
            ...credential.fields.map(field => values[field] ?? ''),
          ]),
        )
        .digest('hex');
      return `${digest.slice(0, 4)} ${digest.slice(4, 8)}`.toUpperCase();
    },
  };

  async function recordUse(credential: Credential, mcpServerId: string, tool: string | undefined): Promise<void> {
    const use = { mcpServerId, tool };
    if (isUseNoted(credential, use, p.now())) return;
    await credentials.recordUse({ credentialId: credential.credentialId, use });
  }
}

export type CredentialFlow = ReturnType<typeof createCredentialFlow>;
