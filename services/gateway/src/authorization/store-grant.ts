import type { Grant } from '@postern/authorization';
import {
  AlreadyEndedError,
  type Connection,
  connectionIdOf,
  covers,
  type Elicitation,
  type ElicitationOf,
  type ElicitationService,
  IllegalTransitionError,
  QuotaExceededError,
  type Stores,
  StoreUnavailableError,
} from '@postern/elicitation';
import { VaultError } from '@postern/vault';
import { ownerOf, type RegisteredMcpServer } from '../mcp-servers/registered-mcp-server.ts';
import type { AuditLog } from '../platform/audit/audit-events.ts';
import type { GatewayConfig } from '../platform/config/config-schema.ts';
import { redirectUriOf } from '../platform/http/public-urls.ts';
import type { RevocationFlow } from './revocation-flow.ts';
import type { TokenSet, TokenSets } from './token-set.ts';

export type StoreGrantResult =
  | { readonly result: 'completed'; readonly elicitation: Elicitation }
  /** Not the requested grant; the attempt is still in progress. */
  | { readonly result: 'wrong_account'; readonly missing?: undefined }
  | { readonly result: 'fewer_scopes'; readonly missing: readonly string[] }
  /** Another transition was committed first. */
  | { readonly result: 'superseded'; readonly error: AlreadyEndedError | IllegalTransitionError };

/**
 * Stores a grant as a connection. The sealed tokens and the outcome of the elicitation are one commit. A grant that is not
 * stored is revoked at the provider.
 */
export function createStoreGrant(p: {
  config: Pick<GatewayConfig, 'publicUrl'>;
  service: ElicitationService;
  stores: Pick<Stores, 'connections'>;
  tokenSets: TokenSets;
  revocationFlow: RevocationFlow;
  mcpServers: ReadonlyMap<string, RegisteredMcpServer>;
  auditLog: AuditLog;
}) {
  /** The result of the elicitation is decided: a revocation that cannot be stored must not change it. */
  async function tryRevoke(elicitation: ElicitationOf<'authorization'>, revoke: () => Promise<unknown>): Promise<void> {
    try {
      await revoke();
    } catch (error) {
      const { provider } = elicitation.request;
      if (error instanceof StoreUnavailableError)
        p.auditLog.record('grant.left', { ...elicitation, provider, reason: 'store_unavailable' });
      else if (error instanceof VaultError)
        p.auditLog.record('grant.left', { ...elicitation, provider, reason: error.code });
      else throw error;
    }
  }

  return async function storeGrant(
    elicitation: ElicitationOf<'authorization'>,
    attempt: string,
    grant: Grant,
    callbackMembers?: Connection['callbackMembers'],
  ): Promise<StoreGrantResult> {
    const { request, subject, elicitationId, mcpServerId } = elicitation;
    const owner = ownerOf(p.mcpServers, mcpServerId);
    const tokens: TokenSet = {
      accessToken: grant.accessToken,
      tokenType: grant.tokenType,
      refreshToken: grant.refreshToken,
      dpopKey: grant.dpopKey && { ...grant.dpopKey },
      redirectUri: redirectUriOf(p.config.publicUrl, mcpServerId, request.provider).href,
      issuer: grant.issuer,
      clientId: grant.clientId,
    };
    const discard = () => tryRevoke(elicitation, () => p.revocationFlow.discardGrant(elicitation, owner, tokens));

    if (request.expectedAccount !== undefined && request.expectedAccount !== grant.account?.id) {
      await discard();
      return { result: 'wrong_account' };
    }
    // A tool gets all scopes that it requested, or no connection: it must not fail half way for lack of a scope.
    if (!covers(grant.scopes, request.scopes)) {
      await discard();
      return { result: 'fewer_scopes', missing: request.scopes.filter(scope => !grant.scopes.includes(scope)) };
    }
    const { provider, resource } = request;
    const place = { owner, subject, elicitationId, provider, resource };
    const connectionId = connectionIdOf(place);
    const former = await p.stores.connections.read(connectionId);
    try {
      const completed = await p.service.complete(elicitationId, attempt, {
        ...place,
        connectionId,
        scopes: [...grant.scopes].sort(),
        account: grant.account,
        callbackMembers,
        sealedTokens: await p.tokenSets.seal(tokens, place),
        refreshable: grant.refreshToken !== undefined,
        accessTokenExpiresAt: grant.expiresAt,
      });
      // This connection replaces the grant for another account. Two grants for the same account are one grant at many providers.
      if (isOfAnotherAccount(former, grant)) await tryRevoke(elicitation, () => p.revocationFlow.revokeGrant(former));
      return { result: 'completed', elicitation: completed };
    } catch (error) {
      const isRefused = error instanceof QuotaExceededError;
      if (!(isRefused || error instanceof AlreadyEndedError || error instanceof IllegalTransitionError)) throw error;
      await discard();
      if (isRefused) throw error;
      return { result: 'superseded', error };
    }
  };
}

function isOfAnotherAccount(former: Connection | undefined, { account }: Grant): former is Connection {
  return former?.account !== undefined && account !== undefined && former.account.id !== account.id;
}

export type StoreGrant = ReturnType<typeof createStoreGrant>;
