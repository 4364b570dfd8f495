import {
  type BrowserSession,
  type Connection,
  NotFoundError,
  parseConnectionId,
  type Stores,
  serves,
} from '@postern/elicitation';
import { type ConnectionView, disconnectedPage, disconnectPage, mePage, type WaitingView } from '@postern/pages';
import type { FastifyPluginAsync, FastifyRequest } from 'fastify';
import type { Disconnection } from '../authorization/disconnection.ts';
import { type AccountGuardDeps, createAccountGuard, ignoreMissing } from '../identity/account-guard.ts';
import { createMePasskeys, type MePasskeysDeps } from '../identity/passkeys/user-passkeys.ts';
import { type PageKit, waitingAbout } from '../pages/page-views.ts';
import type { GatewayConfig } from '../platform/config/config-schema.ts';
import { elicitationPath, mePaths } from '../platform/http/public-urls.ts';
import { type AccountScopeDeps, createAccountScope } from './account-scope.ts';
import { createMeCredentials, type MeCredentialsDeps } from './me-credential-routes.ts';
import { createMeMutes, type MeMutesDeps } from './me-mcp-server-routes.ts';

interface ById {
  Params: { connectionId: string };
}

export interface MeRoutesDeps
  extends AccountGuardDeps,
    AccountScopeDeps,
    MeCredentialsDeps,
    MePasskeysDeps,
    MeMutesDeps {
  readonly config: AccountGuardDeps['config'] & Pick<GatewayConfig, 'retention'>;
  readonly stores: AccountScopeDeps['stores'] & Pick<Stores, 'passkeys'>;
  readonly disconnection: Disconnection;
}

/** `/me`: the user's connections, credentials, passkeys and open elicitations; disconnecting. */
export const meRoutes: FastifyPluginAsync<PageKit<MeRoutesDeps>> = async (app, pages) => {
  const { deps, browser, views } = pages;
  const scope = createAccountScope(pages);
  const { guardGet, guardPost } = createAccountGuard(pages);
  const { list: listCredentials } = createMeCredentials(pages);
  const listMutes = createMeMutes(pages);
  const { list: listPasskeys } = createMePasskeys(pages);

  const disconnectPath = ({ connectionId }: Pick<Connection, 'connectionId'>) =>
    `/me/connections/${connectionId}/disconnect`;

  function connectionView(connection: Connection, request: FastifyRequest): ConnectionView {
    const lost: ConnectionView['lost'] =
      connection.lost?.reason ?? (serves(connection, [], deps.now()) ? undefined : 'expired');
    return {
      ...views.connectedAccount(connection),
      scopes: views.scopes(connection.provider, connection.scopes, views.context(request).locale),
      connectedAt: new Date(connection.createdAt),
      ...views.lastUse(connection),
      lost,
      disconnectHref: disconnectPath(connection),
    };
  }

  async function waitingFor(browserSession: BrowserSession): Promise<WaitingView[]> {
    const open = await scope.open(browserSession);
    return open
      .filter(elicitation => views.isStillAllowed(elicitation))
      .map(elicitation => ({
        mcpServer: views.mcpServer(elicitation),
        ...views.manageHref(elicitation),
        about: waitingAbout(elicitation, views),
        openHref: elicitationPath(elicitation.elicitationId),
        expiresAt: new Date(elicitation.expiresAt),
        now: new Date(deps.now()),
      }));
  }

  /** Returns a connection of this user. @throws NotFoundError also for a connection of another user */
  async function findOwn(browserSession: BrowserSession, value: string): Promise<Connection> {
    const connectionId = parseConnectionId(value);
    const all = connectionId === undefined ? [] : await scope.connections(browserSession);
    const found = all.find(connection => connection.connectionId === connectionId);
    if (found === undefined) throw new NotFoundError('connection');
    return found;
  }

  // People type the address of the site alone.
  app.get('/', (_, reply) => reply.redirect('/me', 303));

  app.get('/me', (request, reply) =>
    guardGet(request, reply, async browserSession => {
      const [connections, waiting, credentials, passkeys, muted] = await Promise.all([
        scope.connections(browserSession),
        waitingFor(browserSession),
        listCredentials(browserSession),
        listPasskeys(browserSession),
        listMutes(browserSession),
      ]);
      return reply.send(
        mePage(views.context(request), {
          signedIn: {
            person: views.person(browserSession),
            signOutAction: '/logout',
            csrfToken: browser.csrfToken(browserSession.id),
          },
          waiting,
          connections: connections.map(connection => connectionView(connection, request)),
          credentials,
          muted,
          ...passkeys,
          historyHref: mePaths.history,
          answersKeptHours: deps.config.retention.endedHours,
          browsersHref: mePaths.browsers,
          dataHref: mePaths.data,
        }),
      );
    }),
  );

  app.get<ById>('/me/connections/:connectionId/disconnect', (request, reply) =>
    guardGet(request, reply, async browserSession => {
      const connection = await findOwn(browserSession, request.params.connectionId);
      return reply.send(
        disconnectPage(views.context(request), {
          ...views.connectedAccount(connection),
          ...(await deps.disconnection.outlook(connection)),
          disconnectAction: disconnectPath(connection),
          keepHref: '/me',
          csrfToken: browser.csrfToken(browserSession.id),
        }),
      );
    }),
  );

  app.post<ById>('/me/connections/:connectionId/disconnect', (request, reply) =>
    guardPost(request, reply, async browserSession => {
      const connection = await findOwn(browserSession, request.params.connectionId).catch(ignoreMissing);
      const done = connection && (await deps.disconnection.disconnect(connection, 'person').catch(ignoreMissing));
      // Already disconnected, by a second press or in another tab: `/me` no longer lists it.
      if (connection === undefined || done === undefined) return reply.redirect('/me', 303);
      return reply.send(
        disconnectedPage(views.context(request), {
          ...views.connectedAccount(connection),
          provider: done.revocation,
          accessUntil: done.accessUntil,
          backHref: '/me',
        }),
      );
    }),
  );
};
