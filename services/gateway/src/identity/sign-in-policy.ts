import type { BrowserSession, Clock, Elicitation } from '@postern/elicitation';

/** What an MCP server asks of a sign-in, in seconds. */
interface SignInLimits {
  readonly payment?: { readonly freshSignInSeconds?: number | undefined } | undefined;
  readonly confirmation?:
    | { readonly everyFreshSignInSeconds?: number | undefined; readonly freshSignInSeconds?: number | undefined }
    | undefined;
}

/** Maximum age of a sign-in, in seconds, for changing a user's passkeys. */
export const FRESH_SECONDS = 300;

/** Maximum time, in milliseconds, that the clock of an identity provider or application may be ahead of ours. */
const AHEAD_MS = 60_000;

/**
 * Whether a sign-in at `authTime` (epoch milliseconds) is at most `maxAgeMs` old. A time in the future is rejected: a wrong clock or a
 * wrong unit would otherwise stay fresh for years.
 */
export function isFresh(authTime: number | undefined, maxAgeMs: number, now: number): boolean {
  return authTime !== undefined && authTime <= now + AHEAD_MS && now - authTime <= maxAgeMs;
}

/**
 * Decides how recent a sign-in must be to approve an elicitation (OWASP transaction authorization 1.4). Reads the configuration on every
 * call, so a stricter policy also applies to links that were issued before.
 */
export function createSignInPolicy(p: {
  mcpServers: ReadonlyMap<string, { readonly config: SignInLimits }>;
  now: Clock;
}) {
  /** Limits for this kind of elicitation, in seconds. The strictest one applies. */
  function limitsFor({ mcpServerId, request }: Elicitation): readonly (number | undefined)[] {
    const config = p.mcpServers.get(mcpServerId)?.config;
    if (request.kind === 'payment') return [config?.payment?.freshSignInSeconds];
    if (request.kind !== 'confirmation') return [];
    const { everyFreshSignInSeconds, freshSignInSeconds } = config?.confirmation ?? {};
    // The MCP server chooses `danger` itself, so the operator may set a limit that does not depend on it.
    return [everyFreshSignInSeconds, request.terms.danger === 'destructive' ? freshSignInSeconds : undefined];
  }

  /** Maximum age of a sign-in that may approve this elicitation, in milliseconds. Undefined if any age is accepted. */
  function maxAgeMs(elicitation: Elicitation): number | undefined {
    // Loopback mode has no sign-in; receipts say so.
    if (elicitation.identityMode === 'loopback') return undefined;
    const limits = limitsFor(elicitation).filter(limit => limit !== undefined);
    return limits.length === 0 ? undefined : Math.min(...limits) * 1000;
  }

  return {
    maxAgeMs,

    /** Whether the sign-in is too old to approve this elicitation, or its age is unknown. */
    mustSignInAgain(elicitation: Elicitation, browserSession: BrowserSession | undefined): boolean {
      const limit = maxAgeMs(elicitation);
      return limit !== undefined && !isFresh(browserSession?.authTime, limit, p.now());
    },
  };
}

export type SignInPolicy = ReturnType<typeof createSignInPolicy>;
