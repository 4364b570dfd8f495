import { type BrowserSession, type Connection, NotFoundError, parseConnectionId, serves } from '@postern/elicitation';
import {
  type ConnectionView,
  disconnectedPage,
  disconnectPage,
  displayHost,
  mePage,
  signInPage,
  type WaitingView,
} from '@postern/pages';
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { mayUse } from '../../registered-mcp-server.ts';
import { PageError } from './page-error.ts';
import type { PageDeps } from './page-routes.ts';
import { assertSameOrigin } from './same-origin.ts';

interface ById {
  Params: { connectionId: string };
}

const formSchema = z.strictObject({ csrf_token: z.string().max(128) });

/** `/me`: what a person has connected and what waits for them, for that person only. */
export const meRoutes: FastifyPluginAsync<PageDeps> = async (app, { deps, browser, views }) => {
  const { connections } = deps.stores;

  function sendSignIn(request: FastifyRequest, reply: FastifyReply): FastifyReply {
    const [first, ...others] = deps.identityProviders;
    // Without identity providers nobody can show here who they are.
    if (first === undefined) throw new NotFoundError('connection');
    const choices = [first, ...others].map(({ config }) => ({
      name: config.displayName ?? displayHost(new URL(config.issuer)),
      href: `/login?${new URLSearchParams({ to: 'me', idp: config.name })}`,
    }));
    return reply.send(
      signInPage(views.context(request), {
        purpose: 'connections',
        ...(others.length === 0 ? { continueHref: '/login?to=me' } : { choices }),
      }),
    );
  }

  /** What this sign-in may see: an application vouches for its own MCP server only. */
  function isVisible({ origin }: BrowserSession, connection: Connection): boolean {
    if (!('vouchedBy' in origin)) return true;
    const mcpServer = deps.mcpServers.get(origin.vouchedBy);
    return mcpServer !== undefined && mayUse(mcpServer, connection);
  }

  const disconnectPath = ({ connectionId }: Pick<Connection, 'connectionId'>) =>
    `/me/connections/${connectionId}/disconnect`;

  function connectionView(connection: Connection, request: FastifyRequest): ConnectionView {
    const { lastUse } = connection;
    const lost = connection.lost?.reason ?? (serves(connection, [], deps.now()) ? undefined : 'expired');
    return {
      ...views.connectedAccount(connection),
      scopes: views.scopes(connection.provider, connection.scopes, views.context(request).locale),
      connectedAt: new Date(connection.createdAt),
      ...(lastUse === undefined
        ? {}
        : {
            lastUse: {
              at: new Date(lastUse.at),
              mcpServerName: views.mcpServerName(lastUse.mcpServerId),
              ...(lastUse.tool === undefined ? {} : { tool: lastUse.tool }),
            },
          }),
      ...(lost === undefined ? {} : { lost }),
      disconnectHref: disconnectPath(connection),
    };
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
        providerName: views.providerName(elicitation.request.provider),
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

  app.get('/me', async (request, reply) => {
    const browserSession = await browser.readSession(request);
    if (browserSession === undefined) return sendSignIn(request, reply);
    const [all, waiting] = await Promise.all([connections.list(browserSession.subject), waitingFor(browserSession)]);
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
      }),
    );
  });

  app.get<ById>('/me/connections/:connectionId/disconnect', async (request, reply) => {
    const browserSession = await browser.readSession(request);
    if (browserSession === undefined) return sendSignIn(request, reply);
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
  });

  app.post<ById>('/me/connections/:connectionId/disconnect', async (request, reply) => {
    assertSameOrigin(request, deps.config.publicUrl);
    const form = formSchema.safeParse(request.body);
    const browserSession = await browser.readSession(request);
    if (browserSession === undefined) return sendSignIn(request, reply.code(401));
    if (!form.success) throw new PageError('bad_request');
    if (!browser.isCsrfToken(form.data.csrf_token, browserSession.id)) throw new PageError('forbidden');
    await browser.keepAlive(request);
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
  });
};

function unlessGone(error: unknown): undefined {
  if (!(error instanceof NotFoundError)) throw error;
}
