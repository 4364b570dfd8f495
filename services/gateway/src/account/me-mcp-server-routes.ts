import {
  type BrowserSession,
  DomainError,
  type Elicitation,
  type ElicitationService,
  isSuperseded,
  NotFoundError,
  type Stores,
  type Subject,
  type Visitor,
} from '@postern/elicitation';
import { type MutedView, mcpServerPage, reportReasons } from '@postern/pages';
import type { FastifyPluginAsync } from 'fastify';
import { z } from 'zod';
import { type AccountGuardDeps, createAccountGuard } from '../identity/account-guard.ts';
import type { RegisteredMcpServer } from '../mcp-servers/registered-mcp-server.ts';
import { mcpServerPath, type PageKit } from '../pages/page-views.ts';
import type { AuditLog } from '../platform/audit/audit-events.ts';

interface ById {
  Params: { mcpServerId: string };
  Querystring: { reported?: string };
}

const reportSchema = z.strictObject({ csrf_token: z.string().max(128), reason: z.enum(reportReasons) });

export interface MeMutesDeps {
  readonly stores: Pick<Stores, 'mutes'>;
  readonly mcpServers: ReadonlyMap<string, RegisteredMcpServer>;
}

/** Lists the MCP servers that the user muted. One that is no longer registered can ask nothing anyway. */
export function createMeMutes({ deps, views }: PageKit<MeMutesDeps>) {
  return async ({ origin, subject }: BrowserSession): Promise<MutedView[]> => {
    if ('vouchedBy' in origin) return [];
    const mutes = await deps.stores.mutes.list(subject);
    return mutes.flatMap(({ mcpServerId, mutedAt }) => {
      const mcpServer = deps.mcpServers.get(mcpServerId);
      return mcpServer === undefined
        ? []
        : [
            {
              mcpServer: views.registeredMcpServer(mcpServer),
              mutedAt: new Date(mutedAt),
              manageHref: mcpServerPath(mcpServerId),
            },
          ];
    });
  };
}

export interface MeMcpServerRoutesDeps extends AccountGuardDeps, MeMutesDeps {
  readonly service: Pick<ElicitationService, 'listOpen' | 'decline'>;
  readonly auditLog: AuditLog;
}

/** Declines what is still open. A payment that the user may have made stays open. */
export async function declineAll(
  service: Pick<ElicitationService, 'decline'>,
  elicitations: readonly Elicitation[],
  visitor: Visitor,
): Promise<void> {
  for (const elicitation of elicitations) {
    try {
      await service.decline(elicitation, visitor);
    } catch (error) {
      const isPaying = error instanceof DomainError && error.code === 'payment_in_progress';
      if (!isPaying && !isSuperseded(error)) throw error;
    }
  }
}

/** Muting and reporting an MCP server. */
export const meMcpServerRoutes: FastifyPluginAsync<PageKit<MeMcpServerRoutesDeps>> = async (app, pages) => {
  const { deps, browser, views } = pages;
  const { mutes } = deps.stores;
  const { guardGet, guardPost, guardForm } = createAccountGuard(pages);

  /**
   * Returns an MCP server that may ask this user. A user who is identified by an application knows only the MCP server of that
   * application.
   * @throws NotFoundError for unknown and for other MCP servers alike
   */
  function find({ origin, subject }: BrowserSession, mcpServerId: string): RegisteredMcpServer {
    const mcpServer = deps.mcpServers.get(mcpServerId);
    const isKnown = 'vouchedBy' in origin ? origin.vouchedBy === mcpServerId : mcpServer?.identityMode === 'login';
    if (mcpServer === undefined || !isKnown || !mcpServer.issuers.includes(subject.issuer)) throw new NotFoundError();
    return mcpServer;
  }

  /** Only with a sign-in: without one, a user could not come back to `/me` to undo it. @throws NotFoundError */
  function findMutable(browserSession: BrowserSession, mcpServerId: string): RegisteredMcpServer {
    if ('vouchedBy' in browserSession.origin) throw new NotFoundError();
    return find(browserSession, mcpServerId);
  }

  async function hasMuted({ origin, subject }: BrowserSession, mcpServerId: string): Promise<boolean> {
    if ('vouchedBy' in origin) return false;
    return (await mutes.list(subject)).some(mute => mute.mcpServerId === mcpServerId);
  }

  /** A mute can be undone also after the MCP server got another identity mode or other issuers. @throws NotFoundError */
  function findMuted(mcpServerId: string): RegisteredMcpServer {
    const mcpServer = deps.mcpServers.get(mcpServerId);
    if (mcpServer === undefined) throw new NotFoundError();
    return mcpServer;
  }

  /** After the mute, so that no elicitation is created meanwhile. */
  async function declineOpen({ subject }: BrowserSession, mcpServerId: string): Promise<void> {
    const visitor = { kind: 'signed_in' as const, subject };
    await declineAll(deps.service, await deps.service.listOpen(visitor, [mcpServerId]), visitor);
  }

  /** Without an answer of the store, the change may be in force: the audit event says so, because a repeat finds nothing to change. */
  async function setMute(subject: Subject, mcpServerId: string, muted: boolean): Promise<void> {
    const event = muted ? 'mcp_server.muted' : 'mcp_server.unmuted';
    let isNew: boolean;
    try {
      isNew = await (muted ? mutes.mute(subject, mcpServerId) : mutes.unmute(subject, mcpServerId));
    } catch (error) {
      deps.auditLog.record(event, { mcpServerId, subject, outcome: 'unknown' });
      throw error;
    }
    if (isNew) deps.auditLog.record(event, { mcpServerId, subject });
  }

  app.get<ById>('/me/mcp-servers/:mcpServerId', (request, reply) =>
    guardGet(request, reply, async browserSession => {
      const { mcpServerId } = request.params;
      const isMuted = await hasMuted(browserSession, mcpServerId);
      const mcpServer = isMuted ? findMuted(mcpServerId) : find(browserSession, mcpServerId);
      const path = mcpServerPath(mcpServerId);
      return reply.send(
        mcpServerPage(views.context(request), {
          mcpServer: views.registeredMcpServer(mcpServer),
          ...(!('vouchedBy' in browserSession.origin) && {
            mute: {
              isMuted,
              muteAction: `${path}/mute`,
              undoAction: `${path}/unmute`,
            },
          }),
          reportAction: `${path}/report`,
          isReported: request.query.reported !== undefined,
          backHref: '/me',
          csrfToken: browser.csrfToken(browserSession.id),
        }),
      );
    }),
  );

  app.post<ById>('/me/mcp-servers/:mcpServerId/mute', (request, reply) =>
    guardPost(request, reply, async browserSession => {
      const { mcpServerId } = findMutable(browserSession, request.params.mcpServerId);
      const { subject } = browserSession;
      await setMute(subject, mcpServerId, true);
      await declineOpen(browserSession, mcpServerId);
      return reply.redirect(mcpServerPath(mcpServerId), 303);
    }),
  );

  app.post<ById>('/me/mcp-servers/:mcpServerId/unmute', (request, reply) =>
    guardPost(request, reply, async browserSession => {
      const { mcpServerId } = request.params;
      const { subject } = browserSession;
      if (!(await hasMuted(browserSession, mcpServerId))) findMutable(browserSession, mcpServerId);
      await setMute(subject, mcpServerId, false);
      return reply.redirect('/me', 303);
    }),
  );

  app.post<ById>('/me/mcp-servers/:mcpServerId/report', (request, reply) =>
    guardForm(request, reply, reportSchema, async (browserSession, { reason }) => {
      const { mcpServerId } = find(browserSession, request.params.mcpServerId);
      deps.auditLog.record('mcp_server.reported', { mcpServerId, subject: browserSession.subject, reason });
      return reply.redirect(`${mcpServerPath(mcpServerId)}?reported`, 303);
    }),
  );
};
