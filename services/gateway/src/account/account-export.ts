import {
  type BrowserSession,
  type Clock,
  type Connection,
  type Credential,
  type Elicitation,
  isTerminal,
  LISTED_PAYMENTS,
  type Payment,
  type Stores,
} from '@postern/elicitation';
import { passkeyOwnerIn } from '../identity/passkeys/user-passkeys.ts';
import { type AccountScopeDeps, createAccountScope } from './account-scope.ts';

export interface AccountExportDeps extends AccountScopeDeps {
  readonly stores: AccountScopeDeps['stores'] &
    Pick<Stores, 'browserSessions'> & { readonly passkeys: Pick<Stores['passkeys'], 'list'> };
  readonly now: Clock;
}

interface ExportKit {
  readonly deps: AccountExportDeps;
  /** The names of MCP servers. */
  readonly views: {
    connectedAccount(of: Connection): { readonly mcpServers: readonly { readonly name: unknown }[] };
    credentialReaders(of: Credential): readonly { readonly name: unknown }[];
    mcpServerName(mcpServerId: string): unknown;
  };
  /** By which the user tells credentials apart. Without it, the export has none. */
  readonly fingerprint?: (of: Credential) => Promise<string>;
}

const time = (at: number) => new Date(at).toISOString();
const timeOf = (at: number | undefined) => (at === undefined ? undefined : time(at));

/**
 * Everything stored about a user, for the user, or for an operator who answers a request for it: no token, no typed value, no key, and no
 * id that a browser presents. Bounded, because every list is: the lasting ones grow only by acts of the user.
 */
export function createAccountExport({ deps, views, fingerprint }: ExportKit) {
  const scope = createAccountScope({ deps });

  const lastUse = ({ lastUse }: Pick<Connection, 'lastUse'>) =>
    lastUse === undefined ? undefined : { ...lastUse, at: time(lastUse.at) };

  const connection = (of: Connection) => ({
    connectionId: of.connectionId,
    provider: of.provider,
    resource: of.resource,
    account: of.account,
    callbackMembers: of.callbackMembers,
    scopes: of.scopes,
    usableBy: views.connectedAccount(of).mcpServers.map(({ name }) => name),
    connectedAt: time(of.createdAt),
    renewedAt: time(of.updatedAt),
    lastUse: lastUse(of),
    unusable: of.lost === undefined ? undefined : { reason: of.lost.reason, since: time(of.lost.at) },
  });

  const credential = async (of: Credential) => ({
    credentialId: of.credentialId,
    name: of.name,
    title: of.title,
    fields: of.fields,
    fingerprint: await fingerprint?.(of),
    readableBy: views.credentialReaders(of).map(({ name }) => name),
    firstSavedAt: time(of.createdAt),
    savedAt: time(of.updatedAt),
    lastUse: lastUse(of),
  });

  /** The request as issued, and its end. Excludes what belongs to an attempt in progress. */
  const elicitation = (of: Elicitation) => ({
    elicitationId: of.elicitationId,
    mcpServer: views.mcpServerName(of.mcpServerId),
    request: of.request,
    message: of.message,
    requestedBy: of.requestedBy,
    returnUrl: of.returnUrl,
    status: of.status,
    askedAt: time(of.createdAt),
    expiresAt: time(of.expiresAt),
    ...(isTerminal(of) ? { endedAt: time(of.endedAt) } : {}),
    ...(of.status === 'completed' ? { outcome: of.outcome, collectedAt: timeOf(of.redeemedAt) } : {}),
    ...(of.status === 'failed' ? { failure: of.failure } : {}),
  });

  const payment = (of: Payment) => ({
    mcpServer: views.mcpServerName(of.mcpServerId),
    elicitationId: of.elicitationId,
    amount: of.amount,
    processor: of.processor,
    processorReference: of.processorReference,
    mode: of.mode,
    paidAt: time(of.paidAt),
    refunds: of.refunds.map(({ minorUnits, status, createdAt }) => ({
      minorUnits,
      status,
      requestedAt: time(createdAt),
    })),
  });

  return {
    async of(browserSession: Pick<BrowserSession, 'subject' | 'origin' | 'displayName' | 'detail'>) {
      const { subject, displayName, detail } = browserSession;
      const [connections, credentials, mutes, open, ended, { payments }, passkeys, sessions] = await Promise.all([
        scope.connections(browserSession),
        scope.credentials(browserSession),
        scope.mutes(browserSession),
        scope.open(browserSession),
        scope.ended(browserSession),
        scope.payments(browserSession, { skip: 0, limit: LISTED_PAYMENTS }),
        deps.stores.passkeys.list(passkeyOwnerIn(browserSession)),
        deps.stores.browserSessions.list(browserSession),
      ]);
      return {
        exportedAt: time(deps.now()),
        person: { ...subject, displayName, detail },
        connections: connections.map(connection),
        credentials: await Promise.all(credentials.map(credential)),
        passkeys: passkeys.map(({ label, backedUp, transports, createdAt, lastUsedAt }) => ({
          name: label,
          backedUp,
          transports,
          addedAt: time(createdAt),
          lastUsedAt: timeOf(lastUsedAt),
        })),
        browsers: sessions.map(({ browser, origin, createdAt, endsAt, authTime, ...session }) => ({
          signedInThrough: origin,
          displayName: session.displayName,
          browser,
          authenticatedAt: timeOf(authTime),
          signedInAt: time(createdAt),
          endsAt: time(endsAt),
        })),
        mutedMcpServers: mutes.map(({ mcpServerId, mutedAt }) => ({
          mcpServer: views.mcpServerName(mcpServerId),
          mutedAt: time(mutedAt),
        })),
        openRequests: open.map(elicitation),
        answers: ended.map(elicitation),
        payments: payments.map(payment),
      };
    },
  };
}
