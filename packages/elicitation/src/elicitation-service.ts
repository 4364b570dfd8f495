import { createApprovals } from './approvals.ts';
import { createAttempts } from './attempts.ts';
import type { ConnectionStore } from './connection.ts';
import { createDecisions } from './decisions.ts';
import type { Audit, Clock } from './elicitation.ts';
import type { ElicitationStore } from './elicitation-store.ts';
import type { Entropy } from './ids.ts';
import { createIssuance } from './issuance.ts';
import type { ProviderFacts } from './mcp-server.ts';
import { createMoves } from './moves.ts';
import { createReading } from './reading.ts';
import { createRedemption } from './redemption.ts';
import { createSamePersonCheck } from './same-person-check.ts';
import { createSubmissions } from './submissions.ts';
import type { Notifier } from './waiters.ts';

export type { Settlement } from './approvals.ts';
export type { Issued, IssueElicitation, RequestInput } from './issuance.ts';

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
 * Assembles the verbs of the domain, by caller. All verbs that change a status, except `issue`, commit through `moves.ts`. Any
 * number of replicas may call a verb concurrently.
 */
export function createElicitationService(deps: ElicitationServiceDeps) {
  const { move, expire } = createMoves(deps);
  const { checkSamePerson, assertSamePerson } = createSamePersonCheck(deps.audit);
  return {
    /** `issue` for the MCP server. */
    ...createIssuance({ ...deps, move }),
    /** `read` and `wait` for the MCP server, `find`, `listOpen` and `listEnded` for the pages. */
    ...createReading(deps),
    /** `accept` and `decline` for the user, `cancel` for the MCP server. */
    ...createDecisions({ move, assertSamePerson }),
    /** `approve` is the user's; `recordCharge` and `settle` follow from the processor's response. */
    ...createApprovals({ ...deps, move, assertSamePerson }),
    /** `beginCheck` and `submit` for values that the user types. */
    ...createSubmissions({ move, assertSamePerson }),
    /** Raised by the OAuth callback or by a credential check: `retry`, `hold`, `complete`, `fail`. */
    ...createAttempts({ move }),
    /** `redeem` for the MCP server. */
    ...createRedemption(deps),
    /** Called by the sweeper. */
    expire,
    /** Records and refuses another person than the subject, for checks outside these verbs. */
    checkSamePerson,
    assertSamePerson,
  };
}

export type ElicitationService = ReturnType<typeof createElicitationService>;
