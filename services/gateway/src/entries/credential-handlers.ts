import type { CredentialBody } from '@postern/api';
import {
  type Credential,
  type CredentialId,
  generationNumber,
  NotFoundError,
  parseCredentialId,
  type Stores,
} from '@postern/elicitation';
import type { ApiHandlers } from '../mcp-servers/api-handlers.ts';
import { assertHonestName, type RegisteredNames } from '../mcp-servers/confusable-names.ts';
import { allowedSubject, mayRead } from '../mcp-servers/registered-mcp-server.ts';
import type { CredentialFlow } from './credential-flow.ts';

export interface CredentialHandlersDeps {
  readonly stores: Pick<Stores, 'credentials'>;
  readonly registeredNames: RegisteredNames;
  readonly credentialFlow: Pick<CredentialFlow, 'read' | 'remove'>;
}

/** Lasting credentials. */
export const credentialHandlers = (
  deps: CredentialHandlersDeps,
): ApiHandlers<'listCredentials' | 'readCredential' | 'removeCredential'> => ({
  async listCredentials({ caller, query: { name, ...named } }) {
    const credentials = await deps.stores.credentials.list(allowedSubject(caller, named));
    return {
      credentials: credentials
        .filter(credential => mayRead(caller, credential) && (name === undefined || credential.name === name))
        .map(presentCredential),
    };
  },

  async readCredential({ caller, parameters, body }) {
    if (body.tool !== undefined) assertHonestName(deps.registeredNames, caller.mcpServerId, 'body.tool', body.tool);
    return deps.credentialFlow.read(caller, credentialIdOf(parameters.credentialId), body);
  },

  async removeCredential({ caller, parameters }) {
    const credentialId = credentialIdOf(parameters.credentialId);
    await deps.credentialFlow.remove(caller, credentialId);
    return { credentialId };
  },
});

function credentialIdOf(value: string): CredentialId {
  const credentialId = parseCredentialId(value);
  if (credentialId === undefined) throw new NotFoundError('credential');
  return credentialId;
}

function presentCredential(credential: Credential): CredentialBody {
  return {
    credentialId: credential.credentialId,
    name: credential.name,
    fields: [...credential.fields],
    generation: generationNumber(credential),
    createdAt: new Date(credential.createdAt).toISOString(),
    updatedAt: new Date(credential.updatedAt).toISOString(),
    lastUsedAt: credential.lastUse && new Date(credential.lastUse.at).toISOString(),
  };
}
