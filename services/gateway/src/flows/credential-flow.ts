import { createHmac } from 'node:crypto';
import type { CredentialValuesBody, ReadCredentialRequest } from '@postern/api';
import {
  type Clock,
  type Credential,
  type CredentialId,
  generationNumber,
  isUseNoted,
  NotFoundError,
} from '@postern/elicitation';
import type { RedisStores } from '@postern/store-redis';
import type { Vault } from '@postern/vault';
import { z } from 'zod';
import type { Events } from '../events.ts';
import { ProblemError } from '../http/problem-error.ts';
import { mayRead, type RegisteredMcpServer } from '../registered-mcp-server.ts';
import type { CredentialValues } from './credential-entry.ts';
import { credentialContext } from './result-context.ts';
import { sealFor } from './sealed-delivery.ts';

const valuesSchema = z.record(z.string(), z.string());

/** Who deleted it: the person at `/me`, or an MCP server over the API. */
export type DeletedBy = 'person' | { readonly mcpServerId: string };

/** Lasting credentials: read by their MCP server, recognised and deleted by their person. */
export function createCredentialFlow(p: {
  stores: Pick<RedisStores, 'credentials'>;
  vault: Vault;
  events: Events;
  now: Clock;
}) {
  const { credentials } = p.stores;

  async function open(credential: Credential): Promise<CredentialValues> {
    return valuesSchema.parse(JSON.parse(await p.vault.open(credential.sealedValues, credentialContext(credential))));
  }

  /** @throws NotFoundError, also for those the caller may not read */
  async function theirs(caller: RegisteredMcpServer, credentialId: CredentialId): Promise<Credential> {
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
      const credential = await theirs(caller, credentialId);
      const { mcpServerId } = caller;
      const [values] = await Promise.all([open(credential), noteUse(credential, mcpServerId, tool)]);
      const generation = generationNumber(credential);
      const facts = { credentialId, name: credential.name, fields: [...credential.fields], generation };
      p.events.credentialRead({ credentialId, mcpServerId, subject: credential.subject });
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
      await this.delete(await theirs(caller, credentialId), { mcpServerId: caller.mcpServerId });
    },

    /** @throws NotFoundError when it is gone already. */
    async delete({ credentialId, subject }: Credential, by: DeletedBy): Promise<void> {
      if ((await credentials.remove(credentialId)) === undefined) throw new NotFoundError('credential');
      p.events.credentialDeleted({ credentialId, subject, by });
    },

    /**
     * What tells two credentials apart for their person: eight hexadecimal digits, of these values in this place only. Made anew each
     * time and stored nowhere, because a short secret could be found by trying.
     */
    async fingerprint(credential: Credential): Promise<string> {
      const values = await open(credential);
      const digest = createHmac('sha256', `postern credential ${credential.credentialId}`)
        .update(JSON.stringify(credential.fields.map(field => values[field] ?? '')))
        .digest('hex');
      return `${digest.slice(0, 4)} ${digest.slice(4, 8)}`.toUpperCase();
    },
  };

  async function noteUse(credential: Credential, mcpServerId: string, tool: string | undefined): Promise<void> {
    const use = { mcpServerId, ...(tool === undefined ? {} : { tool }) };
    if (isUseNoted(credential, use, p.now())) return;
    await credentials.noteUse({ credentialId: credential.credentialId, use });
  }
}

export type CredentialFlow = ReturnType<typeof createCredentialFlow>;
