import {
  type CredentialListBody,
  type CredentialValuesBody,
  listCredentialsQuerySchema,
  readCredentialRequestSchema,
} from '@postern/api';
import { type CredentialId, DomainError, NotFoundError, parseCredentialId } from '@postern/elicitation';
import type { FastifyPluginAsync } from 'fastify';
import type { GatewayDeps } from '../../deps.ts';
import { assertHonestName } from '../../names/assert-honest-names.ts';
import { mayRead } from '../../registered-mcp-server.ts';
import { parse } from '../parse.ts';
import { callerOf } from './caller-auth.ts';
import { noBodySchema } from './elicitation-routes.ts';
import { presentCredential } from './present.ts';

interface ById {
  Params: { credentialId: string };
}

/** Lasting credentials, for the MCP server that asked for them. */
export const credentialRoutes: FastifyPluginAsync<{ deps: GatewayDeps }> = async (app, { deps }) => {
  app.get('/credentials', async (request): Promise<CredentialListBody> => {
    const caller = callerOf(request);
    const { name, ...subject } = parse(listCredentialsQuerySchema, request.query, 'query');
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
