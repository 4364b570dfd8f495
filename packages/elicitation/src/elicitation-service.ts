import { createApprovals } from './approvals.ts';
import { createAttempts } from './attempts.ts';
import type { Audit } from './audit.ts';
import { createDecisions } from './decisions.ts';
import type { Entropy } from './ids.ts';
import { createIssuance } from './issuance.ts';
import type { ProviderFacts } from './mcp-server.ts';
import { createMoves } from './moves.ts';
import type { Clock, ConnectionStore, ElicitationStore, Notifier } from './ports.ts';
import { createReading } from './reading.ts';
import { createRedemption } from './redemption.ts';
import { createSamePersonCheck } from './same-person-check.ts';
import { createSubmissions } from './submissions.ts';

export type { Settlement } from './approvals.ts';
export type { OneTime } from './decisions.ts';
export type { Issued, IssueElicitation } from './issuance.ts';
export type { RequestInput } from './permitted.ts';
export type { Redeemed } from './redemption.ts';
export type { Submission } from './submissions.ts';

export interface ElicitationServiceDeps {
  readonly elicitations: ElicitationStore;
  readonly connections: ConnectionStore;
  readonly notifier: Notifier;
  readonly providers: (name: string) => ProviderFacts | undefined;
  readonly audit: Audit;
  readonly entropy: Entropy;
  readonly now: Clock;
}

/**
 * The verbs of the domain, by who speaks them. All that change a status but `issue` go through `moves.ts`, the one place
 * that commits; every verb may be called by any number of replicas at once.
 */
export function createElicitationService(deps: ElicitationServiceDeps) {
  const { move, expire } = createMoves(deps);
  const { checkSamePerson, assertSamePerson } = createSamePersonCheck(deps.audit);
  return {
    /** The MCP server asks. */
    ...createIssuance({ ...deps, move }),
    /** `read` and `wait` for the MCP server, `open`, `find` and `listOpen` for the pages. */
    ...createReading({ ...deps, assertSamePerson }),
    /** `accept` and `decline` by the person, `cancel` by the MCP server. */
    ...createDecisions({ move, assertSamePerson }),
    /** `approve` by the person, `noteCharge` and `settle` by whoever carries the processor's answer. */
    ...createApprovals({ ...deps, move, assertSamePerson }),
    /** `beginCheck` and `submit` for what the person types. */
    ...createSubmissions({ move, assertSamePerson }),
    /** `retry`, `hold`, `complete` and `fail` by whoever carries the answer of a provider or of a check. */
    ...createAttempts({ move }),
    /** `redeem` by the MCP server. */
    ...createRedemption(deps),
    /** By time. */
    expire,
    /** Records and refuses a person who is not the subject, where the check happens outside these verbs. */
    checkSamePerson,
    assertSamePerson,
  };
}

export type ElicitationService = ReturnType<typeof createElicitationService>;
