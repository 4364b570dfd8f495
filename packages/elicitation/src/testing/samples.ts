import type { Elicitation } from '../elicitation.ts';
import type { OneTime } from '../elicitation-service.ts';
import { connectionIdOf, digestOf, type ElicitationId } from '../ids.ts';
import type { McpServer } from '../mcp-server.ts';
import type { NewConnection } from '../ports.ts';
import type { Subject } from '../subject.ts';
import type { Visitor } from '../visitor.ts';

export const MINUTE = 60_000;
export const TTL_MS = 10 * MINUTE;
export const ISSUER = 'https://id.example.com';

export const alice: Subject = { issuer: ISSUER, subject: 'alice' };
export const bob: Subject = { issuer: ISSUER, subject: 'bob' };

/** Somebody who has signed in; by the word of an MCP server's application when `vouchedBy` names one. */
export function signedIn(subject: Subject, vouchedBy?: string): Extract<Visitor, { kind: 'signed_in' }> {
  return { kind: 'signed_in', subject, ...(vouchedBy === undefined ? {} : { vouchedBy }) };
}

export function mcpServer(change: Partial<McpServer> = {}): McpServer {
  const mcpServerId = change.mcpServerId ?? 'issue-tracker';
  return {
    mcpServerId,
    identityMode: 'login',
    connectionOwner: mcpServerId,
    kinds: ['authorization'],
    providers: ['github'],
    issuers: [ISSUER],
    returnUrls: ['https://tracker.example.com/done'],
    limits: { subjectMax: 1_000, subjectWindowMs: MINUTE, maxTtlMs: 60 * MINUTE },
    ...change,
  };
}

/** The one-time record of an attempt or verification; `name` is the value that the browser or verifier carries. */
export function oneTime(elicitationId: ElicitationId, name: string): OneTime {
  return {
    record: { digest: digestOf(name), elicitationId, mcpServerId: 'issue-tracker', sealed: `sealed ${name}` },
    ttlMs: TTL_MS,
  };
}

/** What a provider granted for an elicitation, as it was asked. */
export function connectionFor(
  { elicitationId, mcpServerId, subject, request }: Elicitation,
  change: Partial<NewConnection> = {},
): NewConnection {
  const { provider, resource, scopes } = request;
  return {
    connectionId: connectionIdOf({ owner: mcpServerId, subject, provider, resource }),
    owner: mcpServerId,
    subject,
    provider,
    ...(resource === undefined ? {} : { resource }),
    scopes,
    sealedTokens: 'sealed tokens',
    refreshable: false,
    elicitationId,
    ...change,
  };
}
