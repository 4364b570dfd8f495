import { AuthorizationError } from '@postern/authorization';
import { RequestChangedError, type Trouble } from '@postern/elicitation';
import { type ConnectNotice, connectPage, donePage } from '@postern/pages';
import type { FastifyReply } from 'fastify';
import { troubleOf } from '../../../flows/authorization-flow.ts';
import type { ScopePlan } from '../../../flows/scope-plan.ts';
import { createConnectView } from '../connect-view.ts';
import type { PageDeps } from '../page-routes.ts';
import type { KindPages, PageRequest, PresentOf } from './kind-pages.ts';

/** Asks for the use of an account at a provider. */
export function createAuthorizationPages(pages: PageDeps): KindPages<'authorization'> {
  const { deps, browser, views } = pages;
  const { service, authorizationFlow, deviceFlow, scopePlan } = deps;
  const connectView = createConnectView(pages);

  async function sendConnect(
    request: PageRequest,
    reply: FastifyReply,
    present: PresentOf<'authorization'>,
    notice: ConnectNotice | undefined,
    plan?: ScopePlan,
  ): Promise<FastifyReply> {
    const context = views.context(request);
    const planned = plan ?? (await scopePlan(present.elicitation));
    return reply.send(connectPage(context, await connectView(present, planned, { notice, locale: context.locale })));
  }

  return {
    ask: (request, reply, present) => sendConnect(request, reply, present, connectNotice(present)),

    async done(request, reply, { elicitation, browserSession }) {
      const { outcome } = elicitation;
      if (outcome.kind !== 'authorization') throw new TypeError('an outcome of another kind');
      const { provider, scopes, connectionId } = outcome;
      const context = views.context(request);
      const account = (await deps.stores.connections.read(connectionId))?.account;
      return reply.send(
        donePage(context, {
          mcpServer: views.mcpServer(elicitation),
          providerName: views.providerName(provider),
          ...(account === undefined ? {} : { accountName: account.name ?? account.id }),
          scopes: views.scopes(provider, scopes, context.locale),
          ...(browserSession === undefined ? {} : { connectionsHref: '/me' }),
          ...views.wayBack(elicitation),
        }),
      );
    },

    async accept(request, reply, present, form) {
      const { elicitation, visitor } = present;
      const { elicitationId } = elicitation;
      service.assertSamePerson(elicitation, visitor);
      const plan = await scopePlan(elicitation);
      // A consent is to what was seen. Another answer, or a second ask, may have changed the list since.
      if (form.shown !== plan.digest && (elicitation.status === 'pending' || elicitation.status === 'active'))
        return sendConnect(request, reply.code(409), present, 'scopes_changed', plan);
      const binding = browser.digest(browser.ensureId(request, reply));
      const isDevice = views.isDevice(elicitation);
      try {
        await (isDevice ? deviceFlow : authorizationFlow).begin(elicitation, visitor, binding, plan);
      } catch (error) {
        if (error instanceof RequestChangedError)
          return sendConnect(request, reply.code(409), present, 'scopes_changed');
        if (!(error instanceof AuthorizationError)) throw error;
        // Nothing was written: the provider could not even be asked.
        deps.logger.warn(
          { event: 'provider.unavailable', provider: elicitation.request.provider, code: error.code },
          'authorization cannot start',
        );
        return sendConnect(request, reply.code(502), present, connectNoticeOf(troubleOf(error)), plan);
      }
      return reply.redirect(`/e/${elicitationId}/${isDevice ? 'device' : 'leaving'}`, 303);
    },
  };
}

function connectNotice({ elicitation }: PresentOf<'authorization'>): ConnectNotice | undefined {
  return elicitation.status === 'pending' && elicitation.trouble !== undefined
    ? connectNoticeOf(elicitation.trouble)
    : undefined;
}

/** Troubles of other kinds do not come here. */
function connectNoticeOf(trouble: Trouble): ConnectNotice | undefined {
  switch (trouble) {
    case 'payment_not_finished':
    case 'credential_rejected':
    case 'check_unavailable':
      return undefined;
    default:
      return trouble;
  }
}
