import { AuthorizationError, type ProviderRegistry } from '@postern/authorization';
import { type ElicitationService, RequestChangedError, type RetryReason, type Stores } from '@postern/elicitation';
import { type ConnectNotice, type ConnectView, connectPage, donePage, type Locale } from '@postern/pages';
import type { FastifyReply } from 'fastify';
import { decisionView, type KindPages, type PageRequest, type VisitOf } from '../pages/page-guard.ts';
import type { PageKit } from '../pages/page-views.ts';
import { elicitationPath } from '../platform/http/public-urls.ts';
import type { Logger } from '../platform/logger.ts';
import { type AuthorizationStart, retryReasonOf, type ScopePlan } from './authorization-start.ts';
import type { DeviceFlow } from './device-flow.ts';
import type { ScopePlanner } from './scope-plan.ts';

export interface AuthorizationPagesDeps {
  readonly service: Pick<ElicitationService, 'assertSamePerson'>;
  readonly stores: Pick<Stores, 'connections'>;
  readonly providers: Pick<ProviderRegistry, 'get'>;
  readonly logger: Pick<Logger, 'warn'>;
  readonly authorizationStart: Pick<AuthorizationStart, 'begin'>;
  readonly deviceFlow: Pick<DeviceFlow, 'begin'>;
  readonly scopePlan: ScopePlanner;
}

/** The pages of an elicitation that connects an account at a provider. */
export function createAuthorizationPages(pages: PageKit<AuthorizationPagesDeps>): KindPages<'authorization'> {
  const { deps, browser, views } = pages;
  const { service, authorizationStart, deviceFlow, scopePlan } = deps;
  const connectView = createConnectView(pages);

  async function sendOpenPage(
    request: PageRequest,
    reply: FastifyReply,
    visit: VisitOf<'authorization'>,
    notice: ConnectNotice | undefined,
    plan?: ScopePlan,
  ): Promise<FastifyReply> {
    const context = views.context(request);
    const planned = plan ?? (await scopePlan(visit.elicitation));
    return reply.send(connectPage(context, await connectView(visit, planned, { notice, locale: context.locale })));
  }

  return {
    showOpen: (request, reply, visit) => sendOpenPage(request, reply, visit, connectNotice(visit)),

    async showCompleted(request, reply, { elicitation, browserSession }) {
      const { outcome } = elicitation;
      if (outcome.kind !== 'authorization') throw new TypeError('an outcome of another kind');
      const { provider, scopes, connectionId } = outcome;
      const context = views.context(request);
      const account = (await deps.stores.connections.read(connectionId))?.account;
      return reply.send(
        donePage(context, {
          mcpServer: views.mcpServer(elicitation),
          ...views.provider(provider),
          accountName: account?.name ?? account?.id,
          scopes: views.scopes(provider, scopes, context.locale),
          connectionsHref: browserSession && '/me',
          ...views.wayBack(elicitation, request),
        }),
      );
    },

    async accept(request, reply, visit, form) {
      const { elicitation, visitor } = visit;
      const { elicitationId } = elicitation;
      service.assertSamePerson(elicitation, visitor);
      const plan = await scopePlan(elicitation);
      // The user agreed to the scopes on the page. Another tab or another elicitation may have changed the plan since.
      if (form.shown !== plan.digest && (elicitation.status === 'pending' || elicitation.status === 'active'))
        return sendOpenPage(request, reply.code(409), visit, 'scopes_changed', plan);
      const binding = browser.digest(browser.ensureId(request, reply));
      const isDevice = views.isDevice(elicitation);
      const { locale } = views.context(request);
      try {
        await (isDevice ? deviceFlow : authorizationStart).begin(elicitation, visitor, binding, {
          ...plan,
          locale,
        });
      } catch (error) {
        if (error instanceof RequestChangedError)
          return sendOpenPage(request, reply.code(409), visit, 'scopes_changed');
        if (!(error instanceof AuthorizationError)) throw error;
        // Nothing was written yet.
        deps.logger.warn(
          { event: 'provider.unavailable', provider: elicitation.request.provider, code: error.code },
          'authorization cannot start',
        );
        return sendOpenPage(request, reply.code(502), visit, connectNoticeOf(retryReasonOf(error)), plan);
      }
      return reply.redirect(`${elicitationPath(elicitationId)}/${isDevice ? 'device' : 'leaving'}`, 303);
    },
  };
}

function connectNotice({ elicitation }: VisitOf<'authorization'>): ConnectNotice | undefined {
  return elicitation.status === 'pending' && elicitation.retryReason !== undefined
    ? connectNoticeOf(elicitation.retryReason)
    : undefined;
}

/** Returns undefined for the reasons of other kinds. */
function connectNoticeOf(reason: RetryReason): ConnectNotice | undefined {
  switch (reason) {
    case 'payment_not_finished':
    case 'credential_rejected':
    case 'check_unavailable':
      return undefined;
    default:
      return reason;
  }
}

/** Collects the facts of the page that asks the user to connect an account. */
function createConnectView({ deps, browser, views }: PageKit<Pick<AuthorizationPagesDeps, 'providers' | 'logger'>>) {
  /** Returns the configured host while the provider's metadata cannot be read. */
  async function destinationHost(provider: string): Promise<string> {
    try {
      return (await deps.providers.get(provider)?.destinationHost()) ?? views.issuerHost(provider);
    } catch (error) {
      if (!(error instanceof AuthorizationError)) throw error;
      deps.logger.warn(
        { event: 'provider.unavailable', provider, code: error.code },
        'provider metadata cannot be used',
      );
      return views.issuerHost(provider);
    }
  }

  return async function connectView(
    visit: VisitOf<'authorization'>,
    plan: ScopePlan,
    { notice, locale }: { notice: ConnectNotice | undefined; locale: Locale },
  ): Promise<ConnectView> {
    const { elicitation } = visit;
    const { request: asked } = elicitation;
    const { connection, reason } = plan;
    const scopes = views.scopes(asked.provider, plan.requested, locale);
    const isKnown = (scope: string) => plan.held.includes(scope);
    // The page lists all scopes that the grant will have, also those that the provider adds to.
    const heldScopes = views.scopes(
      asked.provider,
      plan.held.filter(scope => !plan.requested.includes(scope)),
      locale,
    );
    return {
      ...decisionView({ browser, views }, visit, plan.digest),
      authorization: {
        ...views.provider(asked.provider),
        destinationHost: await destinationHost(asked.provider),
        ...views.resourceHost(asked),
        scopes:
          connection === undefined
            ? scopes
            : [...scopes, ...heldScopes].map(view => (isKnown(view.scope) ? view : { ...view, isNew: true })),
        reconnect: connection && reason && { reason, connectedAt: new Date(connection.createdAt) },
      },
      notice,
      ...(notice === 'fewer_scopes' && elicitation.status === 'pending'
        ? { missing: views.scopes(asked.provider, elicitation.missing ?? [], locale) }
        : {}),
    };
  };
}
