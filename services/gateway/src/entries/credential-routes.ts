import {
  type CredentialBody,
  type CredentialListBody,
  type CredentialValuesBody,
  listCredentialsQuerySchema,
  readCredentialRequestSchema,
} from '@postern/api';
import {
  type Credential,
  type CredentialId,
  DomainError,
  generationNumber,
  NotFoundError,
  parseCredentialId,
  type Stores,
} from '@postern/elicitation';
import type { FastifyPluginAsync } from 'fastify';
import { callerOf } from '../mcp-servers/caller-auth.ts';
import { assertHonestName, type RegisteredNames } from '../mcp-servers/confusable-names.ts';
import { asConfigured, mayRead } from '../mcp-servers/registered-mcp-server.ts';
import { noBodySchema, parse } from '../platform/http/parse.ts';
import type { CredentialFlow } from './credential-flow.ts';

interface ById {
  Params: { credentialId: string };
}

export interface CredentialRoutesDeps {
  readonly stores: Pick<Stores, 'credentials'>;
  readonly registeredNames: RegisteredNames;
  readonly credentialFlow: Pick<CredentialFlow, 'read' | 'remove'>;
}

/** API of lasting credentials. */
export const credentialRoutes: FastifyPluginAsync<{ deps: CredentialRoutesDeps }> = async (app, { deps }) => {
  app.get('/credentials', async (request): Promise<CredentialListBody> => {
    const caller = callerOf(request);
    const { name, ...named } = parse(listCredentialsQuerySchema, request.query, 'query');
    const subject = asConfigured(caller, named);
    if (!caller.issuers.includes(subject.issuer))
      throw new DomainError('issuer_not_allowed', 'This MCP server may not name users of this issuer.');
    const credentials = await deps.stores.credentials.list(subject);
    return {
      credentials: credentials
        .filter(credential => mayRead(caller, credential) && (name === undefined || credential.name === name))
        .map(presentCredential),
    };
  });

  app.post<ById>('/credentials/:credentialId/values', async (request): Promise<CredentialValuesBody> => {
    const body = request.body == null ? {} : parse(readCredentialRequestSchema, request.body, 'body');
    const caller = callerOf(request);
    if (body.tool !== undefined) assertHonestName(deps.registeredNames, caller.mcpServerId, 'body.tool', body.tool);
    return deps.credentialFlow.read(caller, credentialIdOf(request.params.credentialId), body);
  });

  app.delete<ById>('/credentials/:credentialId', async request => {
    parse(noBodySchema, request.body, 'body');
    const credentialId = credentialIdOf(request.params.credentialId);
    await deps.credentialFlow.remove(callerOf(request), credentialId);
    return { credentialId };
  });
};

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
