import type { BrowserSession, Elicitation, Subject } from '@postern/elicitation';

/**
 * Whose passkeys they are: a person as far as somebody recognises them. Who signs in at their identity provider has other passkeys
 * than who is vouched for by an application, or is taken for the one person there is. An application may vouch for anybody; were
 * passkeys shared, one that is broken into could add its own to people who have none, and approve with it what others ask.
 */
export function passkeyHolderOf({
  identityMode,
  mcpServerId,
  subject,
}: Pick<Elicitation, 'identityMode' | 'mcpServerId' | 'subject'>): Subject {
  switch (identityMode) {
    case 'login':
      return subject;
    case 'external':
      return apart(`external ${mcpServerId}`, subject);
    case 'loopback':
      return apart(`loopback ${mcpServerId}`, subject);
  }
}

/** Those that count for what this browser session may approve. */
export function passkeyHolderIn({ origin, subject }: Pick<BrowserSession, 'origin' | 'subject'>): Subject {
  return 'vouchedBy' in origin ? apart(`external ${origin.vouchedBy}`, subject) : subject;
}

/** No issuer contains a space, so this is nobody who signs in. */
function apart(realm: string, { issuer, subject }: Subject): Subject {
  return { issuer: realm, subject: JSON.stringify([issuer, subject]) };
}
