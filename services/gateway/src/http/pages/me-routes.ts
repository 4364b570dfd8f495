import {
  type BrowserSession,
  type Connection,
  type Elicitation,
  NotFoundError,
  parseConnectionId,
  serves,
} from '@postern/elicitation';
import {
  type ConnectionView,
  disconnectedPage,
  disconnectPage,
  mePage,
  type WaitingAbout,
  type WaitingView,
} from '@postern/pages';
import type { FastifyPluginAsync, FastifyRequest } from 'fastify';
import { mayUse } from '../../registered-mcp-server.ts';
import { createMeCredentials } from './me-credentials.ts';
import { createMePasskeys } from './me-passkeys.ts';
import { createMePresence, unlessGone } from './me-presence.ts';
import type { PageDeps } from './page-routes.ts';
import { amountView } from './payment-view.ts';

interface ById {
  Params: { connectionId: string };
}

/** `/me`: what a person has connected and what waits for them, for that person only. */
export const meRoutes: FastifyPluginAsync<PageDeps> = async (app, pages) => {
  const { deps, browser, views } = pages;
  const { connections } = deps.stores;
  const { look, decide } = createMePresence(pages);
  const { list: listCredentials } = createMeCredentials(pages);
  const { list: listPasskeys } = createMePasskeys(pages);

  /** What this sign-in may see: an application vouches for its own MCP server only. */
  function isVisible({ origin }: BrowserSession, connection: Connection): boolean {
    if (!('vouchedBy' in origin)) return true;
    const mcpServer = deps.mcpServers.get(origin.vouchedBy);
    return mcpServer !== undefined && mayUse(mcpServer, connection);
  }

  const disconnectPath = ({ connectionId }: Pick<Connection, 'connectionId'>) =>
    `/me/connections/${connectionId}/disconnect`;

  function connectionView(connection: Connection, request: FastifyRequest): ConnectionView {
    const lost = connection.lost?.reason ?? (serves(connection, [], deps.now()) ? undefined : 'expired');
    return {
      ...views.connectedAccount(connection),
      scopes: views.scopes(connection.provider, connection.scopes, views.context(request).locale),
      connectedAt: new Date(connection.createdAt),
      ...views.lastUse(connection),
      ...(lost === undefined ? {} : { lost }),
      disconnectHref: disconnectPath(connection),
    };
  }

  function waitingAbout({ request }: Elicitation): WaitingAbout {
    switch (request.kind) {
      case 'authorization':
        return { kind: request.kind, providerName: views.providerName(request.provider) };
      case 'payment':
        return { kind: request.kind, amount: amountView(request.terms.amount) };
      default:
        return { kind: request.kind };
    }
  }

  async function waitingFor(browserSession: BrowserSession): Promise<WaitingView[]> {
    const { origin, subject } = browserSession;
    const visitor = {
      kind: 'signed_in' as const,
      subject,
      ...('vouchedBy' in origin ? { vouchedBy: origin.vouchedBy } : {}),
    };
    const open = await deps.service.listOpen(visitor);
    return open
      .filter(elicitation => views.isRegistered(elicitation))
      .map(elicitation => ({
        mcpServer: views.mcpServer(elicitation),
        about: waitingAbout(elicitation),
        openHref: `/e/${elicitation.elicitationId}`,
        expiresAt: new Date(elicitation.expiresAt),
        now: new Date(deps.now()),
      }));
  }

  /** The connection, if it is this person's. Unknown and foreign ones are answered alike. @throws NotFoundError */
  async function theirs(browserSession: BrowserSession, value: string): Promise<Connection> {
    const connectionId = parseConnectionId(value);
    const all = connectionId === undefined ? [] : await connections.list(browserSession.subject);
    const found = all.find(connection => connection.connectionId === connectionId);
    if (found === undefined || !isVisible(browserSession, found)) throw new NotFoundError('connection');
    return found;
  }

  app.get('/me', (request, reply) =>
    look(request, reply, async browserSession => {
      const { subject } = browserSession;
      const [all, waiting, credentials, passkeys] = await Promise.all([
        connections.list(subject),
        waitingFor(browserSession),
        listCredentials(browserSession),
        listPasskeys(browserSession),
      ]);
      return reply.send(
        mePage(views.context(request), {
          signedIn: {
            person: views.person(browserSession),
            signOutAction: '/logout',
            csrfToken: browser.csrfToken(browserSession.id),
          },
          waiting,
          connections: all
            .filter(connection => isVisible(browserSession, connection))
            .map(connection => connectionView(connection, request)),
          credentials,
          ...passkeys,
        }),
      );
    }),
  );

  app.get<ById>('/me/connections/:connectionId/disconnect', (request, reply) =>
    look(request, reply, async browserSession => {
      const connection = await theirs(browserSession, request.params.connectionId);
      return reply.send(
        disconnectPage(views.context(request), {
          ...views.connectedAccount(connection),
          provider: await deps.disconnection.outlook(connection),
          disconnectAction: disconnectPath(connection),
          keepHref: '/me',
          csrfToken: browser.csrfToken(browserSession.id),
        }),
      );
    }),
  );

  app.post<ById>('/me/connections/:connectionId/disconnect', (request, reply) =>
    decide(request, reply, async browserSession => {
      const connection = await theirs(browserSession, request.params.connectionId).catch(unlessGone);
      const provider = connection && (await deps.disconnection.disconnect(connection, 'person').catch(unlessGone));
      // Pressed twice, or in another tab: it is no longer in the list, which is what its person wants to see.
      if (connection === undefined || provider === undefined) return reply.redirect('/me', 303);
      return reply.send(
        disconnectedPage(views.context(request), {
          ...views.connectedAccount(connection),
          provider,
          backHref: '/me',
        }),
      );
    }),
  );
};
