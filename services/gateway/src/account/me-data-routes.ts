import type { BrowserSession, Credential, Stores } from '@postern/elicitation';
import {
  dataPage,
  disconnectAllPage,
  disconnectedAllPage,
  erasedPage,
  erasePage,
  type RevokedView,
} from '@postern/pages';
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import type { Disconnected, Disconnection } from '../authorization/disconnection.ts';
import { type AccountGuardDeps, createAccountGuard } from '../identity/account-guard.ts';
import { passkeyOwnerIn } from '../identity/passkeys/user-passkeys.ts';
import type { PageKit } from '../pages/page-views.ts';
import type { AuditLog } from '../platform/audit/audit-events.ts';
import type { GatewayConfig } from '../platform/config/config-schema.ts';
import { mePaths } from '../platform/http/public-urls.ts';
import { createErasure, type ErasureDeps } from './account-erasure.ts';
import { type AccountExportDeps, createAccountExport } from './account-export.ts';
import { createAccountScope } from './account-scope.ts';
import { createMeCredentials, type MeCredentialsDeps } from './me-credential-routes.ts';

const EXPORT_PATH = `${mePaths.data}/export`;
const DISCONNECT_PATH = `${mePaths.data}/disconnect`;
const ERASE_PATH = `${mePaths.data}/erase`;

export interface MeDataRoutesDeps extends AccountGuardDeps, AccountExportDeps, ErasureDeps {
  readonly config: AccountGuardDeps['config'] & ErasureDeps['config'] & Pick<GatewayConfig, 'retention'>;
  readonly stores: AccountExportDeps['stores'] & ErasureDeps['stores'] & Pick<Stores, 'passkeys'>;
  readonly service: AccountExportDeps['service'] & ErasureDeps['service'];
  readonly credentialFlow: MeCredentialsDeps['credentialFlow'] & ErasureDeps['credentialFlow'];
  readonly auditLog: AuditLog;
  readonly disconnection: Disconnection;
}

/** The user's data as a whole: download, disconnecting all accounts, deletion. */
export const meDataRoutes: FastifyPluginAsync<PageKit<MeDataRoutesDeps>> = async (app, pages) => {
  const { deps, browser, views } = pages;
  const { guardGet, guardPost, isFresh, freshSignInHref } = createAccountGuard(pages);
  const scope = createAccountScope(pages);
  const saved = createMeCredentials(pages);
  const fingerprint = async (of: Credential) => (await saved.view(of)).fingerprint;
  const accountExport = createAccountExport({ deps: pages.deps, views, fingerprint });
  const erasure = createErasure(pages);

  /** Acts only within minutes of a sign-in: a copied cookie must be able neither to destroy nor to take everything. */
  const guardFresh =
    (guard: typeof guardGet) =>
    (request: FastifyRequest, reply: FastifyReply, act: (browserSession: BrowserSession) => Promise<FastifyReply>) =>
      guard(request, reply, async browserSession =>
        isFresh(browserSession) ? act(browserSession) : reply.redirect(freshSignInHref(browserSession, 'data'), 303),
      );
  const guardFreshGet = guardFresh(guardGet);
  const guardFreshPost = guardFresh(guardPost);

  /** Names each provider once, under the least that one of its accounts achieved. */
  function revokedView(ended: readonly (Disconnected & { readonly provider: string })[]): RevokedView {
    const groups = { revoked: new Set<string>(), pending: new Set<string>(), unsupported: new Set<string>() };
    for (const { provider, revocation } of ended) {
      const group = revocation === 'revoked' || revocation === 'pending' ? revocation : 'unsupported';
      groups[group].add(views.providerName(provider));
    }
    return {
      revoked: [...groups.revoked].filter(name => !groups.pending.has(name) && !groups.unsupported.has(name)),
      pending: [...groups.pending].filter(name => !groups.unsupported.has(name)),
      unsupported: [...groups.unsupported],
    };
  }

  app.get(mePaths.data, (request, reply) =>
    guardGet(request, reply, async browserSession =>
      reply.send(
        dataPage(views.context(request), {
          exportAction: EXPORT_PATH,
          disconnectHref: DISCONNECT_PATH,
          eraseHref: ERASE_PATH,
          csrfToken: browser.csrfToken(browserSession.id),
          backHref: '/me',
        }),
      ),
    ),
  );

  // A POST, because an audit event records it.
  app.post(EXPORT_PATH, (request, reply) =>
    guardFreshPost(request, reply, async browserSession => {
      const file = await accountExport.of(browserSession);
      deps.auditLog.record('account.exported', { subject: browserSession.subject });
      return reply
        .type('application/json; charset=utf-8')
        .header('content-disposition', 'attachment; filename="my-data.json"')
        .send(`${JSON.stringify(file, null, 2)}\n`);
    }),
  );

  app.get(DISCONNECT_PATH, (request, reply) =>
    guardFreshGet(request, reply, async browserSession => {
      const connections = await scope.connections(browserSession);
      const { revoked, unsupported } = await deps.disconnection.outlookOfAll(connections);
      return reply.send(
        disconnectAllPage(views.context(request), {
          count: connections.length,
          revoked: revoked.map(views.providerName),
          unsupported: unsupported.map(views.providerName),
          action: DISCONNECT_PATH,
          keepHref: mePaths.data,
          csrfToken: browser.csrfToken(browserSession.id),
        }),
      );
    }),
  );

  app.post(DISCONNECT_PATH, (request, reply) =>
    guardFreshPost(request, reply, async browserSession => {
      const ended = await deps.disconnection.disconnectAll(await scope.connections(browserSession), 'person');
      deps.auditLog.record('account.disconnected', { subject: browserSession.subject, connections: ended.length });
      return reply.send(disconnectedAllPage(views.context(request), { ...revokedView(ended), backHref: '/me' }));
    }),
  );

  app.get(ERASE_PATH, (request, reply) =>
    guardFreshGet(request, reply, async browserSession =>
      reply.send(
        erasePage(views.context(request), {
          action: ERASE_PATH,
          keepHref: mePaths.data,
          csrfToken: browser.csrfToken(browserSession.id),
          answersKeptHours: deps.config.retention.endedHours,
          hasPasskeys: (await deps.stores.passkeys.list(passkeyOwnerIn(browserSession))).length > 0,
        }),
      ),
    ),
  );

  app.post(ERASE_PATH, (request, reply) =>
    guardFreshPost(request, reply, async browserSession => {
      const ended = await erasure.erase(browserSession);
      await browser.endSession(request, reply);
      return reply.send(erasedPage(views.context(request), revokedView(ended)));
    }),
  );
};
