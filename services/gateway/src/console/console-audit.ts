import type { AuditLog } from '../platform/audit/audit-log.ts';
import { type AuditTrail, createPageTrace } from '../platform/audit/audit-trail.ts';
import type { Logger } from '../platform/logger.ts';
import type { Role } from './roles.ts';

/**
 * Audit events of the console itself. The admin service records what an operator looks at and changes. Operators are named by their subject
 * at the identity provider, not by a pseudonym: they answer for what they do.
 */
export function createConsoleAudit(trail: AuditTrail, logger: Pick<Logger, 'warn'>) {
  return {
    pageFailed: createPageTrace(trail, logger),
    signedIn: (p: { operator: string; role: Role }) =>
      trail.info({ event: 'console.signed_in', ...p }, 'operator signed in'),
    /** Signed in at the identity provider, but without a role. */
    refused: (p: { operator: string }) => trail.warn({ event: 'console.refused', ...p }, 'operator without a role'),
    signInFailed: (p: { code: string }) => trail.warn({ event: 'console.sign_in_failed', ...p }, 'sign-in failed'),
    signedOut: (p: { operator: string }) => trail.info({ event: 'console.signed_out', ...p }, 'operator signed out'),
    /** The identity provider ended a session of an operator, or all of them. */
    loggedOut: ({ of, subject }: Parameters<AuditLog['loggedOut']>[0]) =>
      trail.info(
        { event: 'console.logged_out', of, operator: subject?.subject },
        'operator signed out by the identity provider',
      ),
    logoutRefused: ({ code, claim }: Omit<Parameters<AuditLog['logoutRefused']>[0], 'identityProvider'>) =>
      trail.warn({ event: 'console.logout_refused', code, claim }, 'logout refused'),
  };
}

export type ConsoleAudit = ReturnType<typeof createConsoleAudit>;
