import {
  AlreadyEndedError,
  type BrowserSession,
  DomainError,
  type Elicitation,
  type ElicitationService,
  IllegalTransitionError,
  isTerminal,
  NotFoundError,
  type Stores,
} from '@postern/elicitation';
import type { Disconnected, Disconnection } from '../authorization/disconnection.ts';
import type { CredentialFlow } from '../entries/credential-flow.ts';
import { longestSessionMs } from '../identity/create-browser-session.ts';
import { visitorIn } from '../pages/browser-cookies.ts';
import type { AuditLog } from '../platform/audit/audit-events.ts';
import type { GatewayConfig } from '../platform/config/config-schema.ts';
import { type AccountScopeDeps, createAccountScope } from './account-scope.ts';

/** How often an elicitation can move while it is read: to the provider, to the application, back to the user. */
const MOVES = 4;

export interface ErasureDeps extends AccountScopeDeps {
  readonly config: Pick<GatewayConfig, 'browserSession'>;
  readonly stores: AccountScopeDeps['stores'] &
    Pick<Stores, 'browserSessions'> & { readonly payments: Pick<Stores['payments'], 'forgetPaid'> };
  readonly service: AccountScopeDeps['service'] & Pick<ElicitationService, 'find' | 'decline' | 'fail'>;
  readonly credentialFlow: Pick<CredentialFlow, 'delete'>;
  readonly disconnection: Pick<Disconnection, 'disconnectAll'>;
  readonly auditLog: AuditLog;
}

/**
 * Deletes what is stored about a user. Passkeys stay: removing one needs an assertion, and a deletion that a fresh session alone can
 * order must not be a way around that. docs/operators.md lists what else stays.
 */
export function createErasure({ deps }: { readonly deps: ErasureDeps }) {
  const scope = createAccountScope({ deps });

  /**
   * An application that verifies holds the answer of a provider: it fails, so that no verification creates a connection afterwards. Reads
   * the elicitation again if it has moved meanwhile, such as by the answer of a provider.
   * @returns false if it already ended, or if a payment processor decides its end
   */
  async function end({ elicitationId }: Elicitation, browserSession: BrowserSession): Promise<boolean> {
    for (let moves = 0; ; moves += 1) {
      const current = await deps.service.find(elicitationId);
      if (current === undefined || isTerminal(current)) return false;
      try {
        if (current.status === 'verifying')
          await deps.service.fail(elicitationId, current.attempt, 'verification_expired');
        else await deps.service.decline(elicitationId, visitorIn(browserSession));
        return true;
      } catch (error) {
        if (error instanceof DomainError && error.code === 'payment_in_progress') return false;
        const hasMoved = error instanceof AlreadyEndedError || error instanceof IllegalTransitionError;
        if (moves === MOVES || !(hasMoved || error instanceof NotFoundError)) throw error;
      }
    }
  }

  async function deleteCredentials(browserSession: BrowserSession): Promise<number> {
    const credentials = await scope.credentials(browserSession);
    for (const credential of credentials) {
      try {
        await deps.credentialFlow.delete(credential, 'person');
      } catch (error) {
        // Another request has deleted it.
        if (!(error instanceof NotFoundError)) throw error;
      }
    }
    return credentials.length;
  }

  return {
    /**
     * Each step is one commit and may be repeated, and the browser sessions end last: after a crash in between, the user is still
     * signed in, and a second deletion completes the first. Open elicitations end first, so that none creates a connection afterwards.
     */
    async erase(browserSession: BrowserSession): Promise<readonly (Disconnected & { readonly provider: string })[]> {
      const open = await scope.open(browserSession);
      const ended = await Promise.all(open.map(elicitation => end(elicitation, browserSession)));
      const disconnected = await deps.disconnection.disconnectAll(await scope.connections(browserSession), 'person');
      const credentials = await deleteCredentials(browserSession);
      const { subject } = browserSession;
      for (const { mcpServerId } of await scope.mutes(browserSession))
        await deps.stores.mutes.unmute(subject, mcpServerId);
      await deps.stores.payments.forgetPaid({ subject, voucher: visitorIn(browserSession).vouchedBy });
      await deps.stores.browserSessions.endAll(browserSession, longestSessionMs(deps.config));
      deps.auditLog.record('account.erased', {
        subject,
        declined: ended.filter(Boolean).length,
        connections: disconnected.length,
        credentials,
      });
      return disconnected;
    },
  };
}
