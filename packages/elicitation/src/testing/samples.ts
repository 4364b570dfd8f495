import type { NewConnection } from '../connection.ts';
import { type Elicitation, isOfKind, kinds } from '../elicitation.ts';
import type { Issued } from '../elicitation-service.ts';
import { connectionIdOf, digestOf, type ElicitationId, type Subject } from '../ids.ts';
import type { McpServer } from '../mcp-server.ts';
import type { OneTime } from '../one-time.ts';
import type { Visitor } from '../same-person-check.ts';

export const MINUTE = 60_000;
export const TTL_MS = 10 * MINUTE;
export const ISSUER = 'https://id.example.com';

export const alice: Subject = { issuer: ISSUER, subject: 'alice' };
export const bob: Subject = { issuer: ISSUER, subject: 'bob' };

/** A signed-in visitor; `vouchedBy` names the MCP server whose application vouched for them. */
export function signedIn(subject: Subject, vouchedBy?: string): Extract<Visitor, { kind: 'signed_in' }> {
  return { kind: 'signed_in', subject, vouchedBy };
}

export function mcpServer(change: Partial<McpServer> = {}): McpServer {
  const mcpServerId = change.mcpServerId ?? 'issue-tracker';
  return {
    mcpServerId,
    identityMode: 'login',
    connectionOwner: mcpServerId,
    kinds,
    providers: ['github'],
    payment: { processors: ['none', 'stripe'], maxMinorUnits: { EUR: 100_000, JPY: 500_000 } },
    issuers: [ISSUER],
    returnUrls: ['https://tracker.example.com/done'],
    limits: {
      subjectMax: 1_000,
      subjectWindowMs: MINUTE,
      openMax: 1_000,
      maxTtlMs: 60 * MINUTE,
      quota: { records: 1e9, bytes: 1e12 },
    },
    ...change,
  };
}

/** The one-time record of an attempt or verification. `name` is the value that the browser or verifier holds. */
export function oneTime(elicitationId: ElicitationId, name: string): OneTime {
  return {
    record: { digest: digestOf(name), elicitationId, mcpServerId: 'issue-tracker', sealed: `sealed ${name}` },
    ttlMs: TTL_MS,
  };
}

/** The provider's grant for an elicitation, exactly as requested. */
export function connectionFor(elicitation: Elicitation, change: Partial<NewConnection> = {}): NewConnection {
  if (!isOfKind(elicitation, 'authorization')) throw new Error('Nothing is connected for this kind.');
  const { elicitationId, mcpServerId, subject } = elicitation;
  const { provider, resource, scopes } = elicitation.request;
  return {
    connectionId: connectionIdOf({ owner: mcpServerId, subject, provider, resource }),
    owner: mcpServerId,
    subject,
    provider,
    ...(resource === undefined ? undefined : { resource }),
    scopes,
    sealedTokens: 'sealed tokens',
    refreshable: false,
    elicitationId,
    ...change,
  };
}

/** Returns the elicitation that was issued or found, and fails if there is none. */
export function issuedIn(issued: Issued): Elicitation {
  if (!('elicitation' in issued)) throw new Error(`Expected an elicitation, got ${issued.disposition}.`);
  return issued.elicitation;
}

export const scopesOf = (elicitation: Elicitation): readonly string[] =>
  isOfKind(elicitation, 'authorization') ? elicitation.request.scopes : [];
