import { type Audit, digestOf, type Subject } from '@postern/elicitation';
import type { Logger } from './logger.ts';

/** A person in the audit trail: always the same for the same subject, without naming them. */
export function pseudonym(subject: Subject): string {
  return digestOf(JSON.stringify([subject.issuer, subject.subject])).slice(0, 16);
}

/** One helper per business event, so that what is written down is decided in one place. */
export function createEvents(logger: Logger) {
  const audit = logger.child({ audit: true });
  const record: Audit = event => {
    const { type, elicitationId, mcpServerId, subject } = event;
    audit.info(
      {
        event: `elicitation.${type}`,
        elicitationId,
        mcpServerId,
        subject: pseudonym(subject),
        ...(event.type === 'failed' ? { failure: event.failure } : {}),
        ...(event.type === 'returned' ? { trouble: event.trouble } : {}),
        ...(event.type === 'wrong_person' && event.visitor !== undefined ? { visitor: pseudonym(event.visitor) } : {}),
      },
      `elicitation ${type}`,
    );
  };
  return {
    elicitation: record,
    signedIn: (p: { subject: Subject; origin: string }) =>
      audit.info({ event: 'browser.signed_in', subject: pseudonym(p.subject), origin: p.origin }, 'signed in'),
    signInFailed: (p: { code: string }) =>
      audit.warn({ event: 'browser.sign_in_failed', code: p.code }, 'sign-in failed'),
    signedOut: (p: { subject: Subject }) =>
      audit.info({ event: 'browser.signed_out', subject: pseudonym(p.subject) }, 'signed out'),
    callbackRefused: (p: { reason: string; mcpServerId: string; provider: string; elicitationId?: string }) =>
      audit.warn({ event: 'callback.refused', ...p }, 'provider answer refused'),
    tokenRead: (p: { connectionId: string; mcpServerId: string; subject: Subject }) =>
      audit.info(
        {
          event: 'connection.token_read',
          connectionId: p.connectionId,
          mcpServerId: p.mcpServerId,
          subject: pseudonym(p.subject),
        },
        'access token read',
      ),
    callerRefused: () => audit.warn({ event: 'caller.refused' }, 'credential refused'),
  };
}

export type Events = ReturnType<typeof createEvents>;
