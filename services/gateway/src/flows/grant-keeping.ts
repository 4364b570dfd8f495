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
  StoreUnavailableError,
} from '@postern/elicitation';
import type { RedisStores } from '@postern/store-redis';
import { VaultError } from '@postern/vault';
import type { Events } from '../events.ts';
import { ownerOf, type RegisteredMcpServer } from '../registered-mcp-server.ts';
import type { RevocationFlow } from './revocation-flow.ts';
import type { TokenSet, TokenSets } from './token-set.ts';

export type KeepResult =
  | { readonly result: 'completed'; readonly elicitation: Elicitation }
  /** Not what was asked for; the attempt is still in progress. */
  | { readonly result: 'wrong_account'; readonly missing?: undefined }
  | { readonly result: 'fewer_scopes'; readonly missing: readonly string[] }
  /** Another decision, or the time, came first. */
  | { readonly result: 'overtaken'; readonly error: AlreadyEndedError | IllegalTransitionError };

/**
 * What becomes of a grant: a connection, sealed and committed with the end of its elicitation, or nothing at all. A grant that
 * is not kept is ended at the provider.
 */
export function createGrantKeeping(p: {
  service: ElicitationService;
  stores: Pick<RedisStores, 'connections'>;
  tokenSets: TokenSets;
  revocationFlow: RevocationFlow;
  mcpServers: ReadonlyMap<string, RegisteredMcpServer>;
  events: Events;
}) {
  /** What has become of the ask is settled by now: that a grant cannot be written down to be ended does not hide it. */
  async function end(elicitation: ElicitationOf<'authorization'>, step: () => Promise<unknown>): Promise<void> {
    try {
      await step();
    } catch (error) {
      if (error instanceof StoreUnavailableError) p.events.grantLeft(elicitation, 'store_unavailable');
      else if (error instanceof VaultError) p.events.grantLeft(elicitation, error.code);
      else throw error;
    }
  }

  return async function keep(
    elicitation: ElicitationOf<'authorization'>,
    attempt: string,
    grant: Grant,
    redirectUri: URL,
  ): Promise<KeepResult> {
    const { request, subject, elicitationId, mcpServerId } = elicitation;
    const owner = ownerOf(p.mcpServers, mcpServerId);
    const tokens: TokenSet = {
      accessToken: grant.accessToken,
      tokenType: grant.tokenType,
      ...(grant.refreshToken === undefined ? {} : { refreshToken: grant.refreshToken }),
      ...(grant.dpopKey === undefined ? {} : { dpopKey: { ...grant.dpopKey } }),
      redirectUri: redirectUri.href,
      issuer: grant.issuer,
    };
    const discard = () => end(elicitation, () => p.revocationFlow.discard(elicitation, owner, tokens));

    if (request.expectedAccount !== undefined && request.expectedAccount !== grant.account?.id) {
      await discard();
      return { result: 'wrong_account' };
    }
    // A tool never finds out later, in the middle of its work, that it was given less than it said it needs.
    if (!covers(grant.scopes, request.scopes)) {
      await discard();
      return { result: 'fewer_scopes', missing: request.scopes.filter(scope => !grant.scopes.includes(scope)) };
    }
    const { provider, resource } = request;
    const place = { owner, subject, elicitationId, provider, ...(resource === undefined ? {} : { resource }) };
    const connectionId = connectionIdOf(place);
    const former = await p.stores.connections.read(connectionId);
    try {
      const completed = await p.service.complete(elicitationId, attempt, {
        ...place,
        connectionId,
        scopes: [...grant.scopes].sort(),
        ...(grant.account === undefined ? {} : { account: grant.account }),
        sealedTokens: await p.tokenSets.seal(tokens, place),
        refreshable: grant.refreshToken !== undefined,
        ...(grant.expiresAt === undefined ? {} : { accessTokenExpiresAt: grant.expiresAt }),
      });
      // The account that was connected before is not reached from here any more. Of the same account, many providers make one grant.
      if (isOfAnotherAccount(former, grant)) await end(elicitation, () => p.revocationFlow.endGrant(former));
      return { result: 'completed', elicitation: completed };
    } catch (error) {
      const isRefused = error instanceof QuotaExceededError;
      if (!(isRefused || error instanceof AlreadyEndedError || error instanceof IllegalTransitionError)) throw error;
      await discard();
      if (isRefused) throw error;
      return { result: 'overtaken', error };
    }
  };
}

function isOfAnotherAccount(former: Connection | undefined, { account }: Grant): former is Connection {
  return former?.account !== undefined && account !== undefined && former.account.id !== account.id;
}

export type GrantKeeping = ReturnType<typeof createGrantKeeping>;
