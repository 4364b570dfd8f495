import type { BrowserSession, Clock, Elicitation, ElicitationOf, FirstPasskey } from '@postern/elicitation';
import { FRESH_SECONDS, isFresh } from '../identity/sign-in-policy.ts';
import type { RegisteredMcpServer } from '../mcp-servers/registered-mcp-server.ts';

/**
 * Decides which approvals need a passkey, and when a user's first passkey may be added and counts. Reads the configuration on every call,
 * so a stricter policy also applies to links that were issued before.
 */
export function createPasskeyPolicy(p: { mcpServers: ReadonlyMap<string, RegisteredMcpServer>; now: Clock }) {
  const paymentConfigOf = ({ mcpServerId }: Elicitation) => p.mcpServers.get(mcpServerId)?.config.payment;

  /** Whether the browser session comes from a recent sign-in that was required for this elicitation. */
  const isProvedFor = ({ elicitationId }: Elicitation, browserSession: BrowserSession | undefined) =>
    browserSession?.provedFor === elicitationId && isFresh(browserSession.authTime, FRESH_SECONDS * 1000, p.now());

  return {
    /**
     * Whether the approval needs a passkey over the digest of the terms: for a payment above `passkeyAbove` of its MCP server. The daily
     * threshold may demand one as well, see `DailyLimits`.
     */
    needsPasskey(elicitation: Elicitation): boolean {
      if (elicitation.request.kind !== 'payment') return false;
      const { currency, minorUnits } = elicitation.request.terms.amount;
      const above = paymentConfigOf(elicitation)?.passkeyAbove[currency];
      return above !== undefined && minorUnits > above;
    },

    /**
     * A first passkey needs a recent sign-in that was required for this elicitation, by the identity provider or by the application that
     * vouches for the user. Otherwise a thief of the session cookie could add a passkey within minutes of any sign-in.
     */
    mustSignInToAddPasskey: (elicitation: Elicitation, browserSession: BrowserSession | undefined): boolean =>
      elicitation.identityMode !== 'loopback' && !isProvedFor(elicitation, browserSession),

    /** Whether a first passkey that this browser session adds for this payment counts now, up to a limit, or later. */
    firstPasskeyFor(elicitation: Elicitation, browserSession: BrowserSession | undefined): FirstPasskey {
      if (elicitation.identityMode === 'loopback') return 'counts';
      return isProvedFor(elicitation, browserSession) ? 'limited' : 'later';
    },

    /** Maximum amount that a first passkey may approve in the 24 hours after it was added, in minor units. */
    firstPasskeyUpTo: (elicitation: ElicitationOf<'payment'>): number | undefined =>
      paymentConfigOf(elicitation)?.firstPasskeyUpTo[elicitation.request.terms.amount.currency],
  };
}

export type PasskeyPolicy = ReturnType<typeof createPasskeyPolicy>;
