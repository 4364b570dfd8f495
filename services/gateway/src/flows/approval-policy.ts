import type { BrowserSession, Clock, Elicitation, ElicitationOf, FirstPasskey } from '@postern/elicitation';
import type { RegisteredMcpServer } from '../registered-mcp-server.ts';
import { FRESH_SECONDS, isFresh } from './freshness.ts';

/** What a person must have proved before an approval counts (OWASP transaction authorisation 1.4). */
export interface ApprovalRequirements {
  /** The person must have signed in within this time, in milliseconds. */
  readonly freshSignInMs?: number;
  /** And prove presence and verification with a passkey, over the digest of the terms. */
  readonly passkey: boolean;
}

/** Decided anew whenever it is asked: a policy that the operator tightens holds for links that are out already. */
export function createApprovalPolicy(p: { mcpServers: ReadonlyMap<string, RegisteredMcpServer>; now: Clock }) {
  function requirementsOf({ mcpServerId, request, identityMode }: Elicitation): ApprovalRequirements {
    const config = p.mcpServers.get(mcpServerId)?.config;
    // On a machine of one person nobody signs in; receipts say so.
    const seconds = (value: number | undefined) =>
      value === undefined || identityMode === 'loopback' ? {} : { freshSignInMs: value * 1000 };
    switch (request.kind) {
      case 'payment': {
        const { currency, minorUnits } = request.terms.amount;
        const above = config?.payment?.passkeyAbove[currency];
        return {
          ...seconds(config?.payment?.freshSignInSeconds),
          passkey: above !== undefined && minorUnits > above,
        };
      }
      case 'confirmation':
        return {
          ...(request.terms.danger === 'destructive' ? seconds(config?.confirmation.freshSignInSeconds) : {}),
          passkey: false,
        };
      default:
        return { passkey: false };
    }
  }

  const isSignInFresh = (browserSession: BrowserSession | undefined) =>
    isFresh(browserSession?.authTime, FRESH_SECONDS * 1000, p.now());

  return {
    requirementsOf,

    /** Whether the sign-in is too old, or nobody knows how old it is. */
    mustSignInAgain(elicitation: Elicitation, browserSession: BrowserSession | undefined): boolean {
      const { freshSignInMs } = requirementsOf(elicitation);
      if (freshSignInMs === undefined) return false;
      return !isFresh(browserSession?.authTime, freshSignInMs, p.now());
    },

    /**
     * A first passkey is added only right after a sign-in, and at an identity provider only after one that its page demanded: a thief of
     * the cookie of a fresh sign-in would make the passkey theirs.
     */
    mustSignInToAddPasskey(
      { identityMode, elicitationId }: Elicitation,
      browserSession: BrowserSession | undefined,
    ): boolean {
      if (identityMode === 'loopback') return false;
      if (identityMode === 'login' && browserSession?.provedFor !== elicitationId) return true;
      return !isSignInFresh(browserSession);
    },

    /** From when on a first passkey counts that the person at this browser adds for this payment. */
    firstPasskeyFor(
      { identityMode, elicitationId }: Elicitation,
      browserSession: BrowserSession | undefined,
    ): FirstPasskey {
      if (identityMode === 'loopback') return 'counts';
      return browserSession?.provedFor === elicitationId && isSignInFresh(browserSession) ? 'limited' : 'later';
    },

    /** Whether a first passkey approves this payment before its 24 hours are over. */
    isWithinFirstPasskeyLimit({ mcpServerId, request }: ElicitationOf<'payment'>): boolean {
      const { currency, minorUnits } = request.terms.amount;
      const upTo = p.mcpServers.get(mcpServerId)?.config.payment?.firstPasskeyUpTo[currency];
      return upTo !== undefined && minorUnits <= upTo;
    },
  };
}

export type ApprovalPolicy = ReturnType<typeof createApprovalPolicy>;
export type Approvable = ElicitationOf<'payment'> | ElicitationOf<'confirmation'>;
