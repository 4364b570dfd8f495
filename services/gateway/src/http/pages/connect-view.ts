import { AuthorizationError } from '@postern/authorization';
import type { ConnectNotice, ConnectView, Locale } from '@postern/pages';
import type { ScopePlan } from '../../flows/scope-plan.ts';
import { createDecisionView } from './decision-view.ts';
import type { PresentOf } from './kinds/kind-pages.ts';
import type { PageDeps } from './page-routes.ts';

/** Everything the page says that asks a person to connect an account. */
export function createConnectView({ deps, browser, views }: PageDeps) {
  const decisionView = createDecisionView({ browser, views });

  /** While the provider's metadata cannot be read, the host that the operator configured. */
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
    present: PresentOf<'authorization'>,
    plan: ScopePlan,
    { notice, locale }: { notice: ConnectNotice | undefined; locale: Locale },
  ): Promise<ConnectView> {
    const { elicitation } = present;
    const { request: asked } = elicitation;
    const { connection, reason } = plan;
    const scopes = views.scopes(asked.provider, plan.requested, locale);
    const isKnown = (scope: string) => plan.held.includes(scope);
    // Where the provider adds to what is granted, the page still says all that will be granted.
    const kept = views.scopes(
      asked.provider,
      plan.held.filter(scope => !plan.requested.includes(scope)),
      locale,
    );
    return {
      ...decisionView(present, plan.digest),
      authorization: {
        providerName: views.providerName(asked.provider),
        destinationHost: await destinationHost(asked.provider),
        scopes:
          connection === undefined
            ? scopes
            : [...scopes, ...kept].map(view => (isKnown(view.scope) ? view : { ...view, isNew: true })),
        ...(connection === undefined || reason === undefined
          ? {}
          : { reconnect: { reason, connectedAt: new Date(connection.createdAt) } }),
      },
      ...(notice === undefined ? {} : { notice }),
      ...(notice === 'fewer_scopes' && elicitation.status === 'pending'
        ? { missing: views.scopes(asked.provider, elicitation.missing ?? [], locale) }
        : {}),
    };
  };
}
