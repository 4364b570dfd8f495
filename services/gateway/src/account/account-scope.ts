import type {
  BrowserSessionOwner,
  Connection,
  Credential,
  Elicitation,
  ElicitationService,
  Mute,
  Payment,
  Stores,
  TerminalElicitation,
} from '@postern/elicitation';
import { mayRead, mayUse, type RegisteredMcpServer } from '../mcp-servers/registered-mcp-server.ts';
import { visitorIn } from '../pages/browser-cookies.ts';

export interface AccountScopeDeps {
  readonly stores: Pick<Stores, 'connections' | 'credentials' | 'mutes'> & {
    readonly payments: Pick<Stores['payments'], 'list' | 'listPaid'>;
  };
  readonly service: Pick<ElicitationService, 'listOpen' | 'listEnded'>;
  readonly mcpServers: ReadonlyMap<string, RegisteredMcpServer>;
}

/**
 * Lists what a browser session may see of its user. A session verified by an application sees only what the MCP server of that
 * application may use.
 */
export function createAccountScope({ deps }: { readonly deps: AccountScopeDeps }) {
  function isVisible<Item>(
    { origin }: BrowserSessionOwner,
    item: Item,
    may: (mcpServer: RegisteredMcpServer, item: Item) => boolean,
  ): boolean {
    if (!('vouchedBy' in origin)) return true;
    const mcpServer = deps.mcpServers.get(origin.vouchedBy);
    return mcpServer !== undefined && may(mcpServer, item);
  }

  return {
    async connections(browserSession: BrowserSessionOwner): Promise<readonly Connection[]> {
      const all = await deps.stores.connections.list(browserSession.subject);
      return all.filter(connection => isVisible(browserSession, connection, mayUse));
    },

    async credentials(browserSession: BrowserSessionOwner): Promise<readonly Credential[]> {
      const all = await deps.stores.credentials.list(browserSession.subject);
      return all.filter(credential => isVisible(browserSession, credential, mayRead));
    },

    async mutes({ origin, subject }: BrowserSessionOwner): Promise<readonly Mute[]> {
      const all = await deps.stores.mutes.list(subject);
      return all.filter(({ mcpServerId }) => !('vouchedBy' in origin) || origin.vouchedBy === mcpServerId);
    },

    open: (browserSession: BrowserSessionOwner): Promise<readonly Elicitation[]> =>
      deps.service.listOpen(visitorIn(browserSession), [...deps.mcpServers.keys()]),

    /** A page of the person's payments, newest first, as long as their records last. */
    async payments(
      browserSession: BrowserSessionOwner,
      { skip, limit }: { readonly skip: number; readonly limit: number },
    ): Promise<{ readonly payments: readonly Payment[]; readonly hasMore: boolean }> {
      const { subject, vouchedBy: voucher } = visitorIn(browserSession);
      const ids = await deps.stores.payments.listPaid({ subject, voucher, skip, limit: limit + 1 });
      const found = await Promise.all(ids.slice(0, limit).map(id => deps.stores.payments.list(id)));
      return { payments: found.flat(), hasMore: ids.length > limit };
    },

    ended: (browserSession: BrowserSessionOwner): Promise<readonly TerminalElicitation[]> =>
      deps.service.listEnded(visitorIn(browserSession)),
  };
}
