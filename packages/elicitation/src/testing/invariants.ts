import type { AuditEvent } from '../audit.ts';
import type { Connection } from '../connection.ts';
import { type Elicitation, isTerminal } from '../elicitation.ts';
import type { ElicitationEvent } from '../events.ts';
import type { ElicitationId } from '../ids.ts';

/** The mark of every secret in the model-based test. */
export const CANARY = 'canary';

export interface Observed {
  /** Every acknowledged elicitation as it is stored now; undefined when it is gone. */
  readonly elicitations: ReadonlyMap<ElicitationId, Elicitation | undefined>;
  readonly connections: readonly Connection[];
  readonly events: readonly ElicitationEvent[];
  readonly audits: readonly AuditEvent[];
  /** Everything any caller was ever answered or refused with. */
  readonly answers: readonly unknown[];
}

const terminalTypes = ['completed', 'failed', 'declined', 'cancelled', 'expired'];

/** I1 to I6, re-checked after every step against everything that can be observed. */
export class Invariants {
  readonly #asIssued = new Map<ElicitationId, string>();
  readonly #asAsked = new Map<ElicitationId, readonly string[]>();
  readonly #asEnded = new Map<ElicitationId, string>();

  /** @throws Error naming the invariant that does not hold. */
  check(observed: Observed): void {
    for (const [elicitationId, elicitation] of observed.elicitations) {
      hold('I1 an acknowledged elicitation never vanishes', elicitation !== undefined);
      if (elicitation === undefined) continue;
      this.#checkEnd(elicitation);
      this.#checkOrigin(elicitationId, elicitation);
      checkAnnouncements(elicitation, observed);
    }
    checkConnections(observed);
    checkSecrets(observed);
  }

  /** After everything's time is over and everything due was ended. @throws Error as `check` */
  checkAllEnded({ elicitations }: Observed): void {
    for (const elicitation of elicitations.values())
      hold('I1 every elicitation ends', elicitation !== undefined && isTerminal(elicitation));
  }

  #checkEnd(elicitation: Elicitation): void {
    const { elicitationId } = elicitation;
    const record = JSON.stringify(elicitation);
    const ended = this.#asEnded.get(elicitationId);
    if (ended !== undefined) hold('I2 an end never changes', record === ended);
    else if (isTerminal(elicitation)) this.#asEnded.set(elicitationId, record);
  }

  #checkOrigin(elicitationId: ElicitationId, elicitation: Elicitation): void {
    const { mcpServerId, subject, identityMode, createdAt, expiresAt } = elicitation;
    const { scopes, ...request } = elicitation.request;
    const origin = JSON.stringify([mcpServerId, subject, identityMode, request, createdAt, expiresAt]);
    const asked = this.#asAsked.get(elicitationId) ?? [];
    hold('what is asked only ever grows', isWithin(asked, scopes));
    this.#asAsked.set(elicitationId, scopes);
    if (elicitation.status === 'completed')
      hold('an ask is completed by what was asked', isWithin(scopes, elicitation.outcome.scopes));
    const issued = this.#asIssued.get(elicitationId);
    if (issued === undefined) this.#asIssued.set(elicitationId, origin);
    else hold('I6 whose it is and what it is about never change', origin === issued);
  }
}

function checkAnnouncements(elicitation: Elicitation, { events, audits }: Observed): void {
  const { elicitationId, version, status } = elicitation;
  const about = events.filter(event => event.elicitationId === elicitationId);
  const versions = about.map(({ eventId }) => Number(eventId.slice(eventId.lastIndexOf('.') + 1)));
  hold(
    'I3 every version is announced, in order, with an id of its own',
    `${versions}` === `${Array.from({ length: version }, (_, n) => n + 1)}`,
  );
  hold('I3 the last announcement is how it stands', about.at(-1)?.type === `elicitation.${status}`);
  hold(
    'I6 announcements go to the MCP server that asked',
    about.every(event => event.mcpServerId === elicitation.mcpServerId),
  );
  const ends = about.filter(({ type }) => terminalTypes.includes(type.slice('elicitation.'.length)));
  const isEnded = isTerminal(elicitation);
  hold('I1 exactly one end is announced', ends.length === (isEnded ? 1 : 0));
  const audited = audits.filter(event => event.elicitationId === elicitationId && terminalTypes.includes(event.type));
  hold('every end is audited once', `${audited.map(({ type }) => type)}` === (isEnded ? status : ''));
}

function checkConnections({ elicitations, connections }: Observed): void {
  const completed = [...elicitations.values()].filter(it => it?.status === 'completed');
  for (const connection of connections) {
    const brought = completed.filter(({ outcome }) => outcome.connectionId === connection.connectionId);
    hold('I4 one token set per completed elicitation', connection.generation === brought.length);
    const last = elicitations.get(connection.elicitationId);
    hold(
      'I6 a connection is of the person and the MCP server of its elicitation',
      last !== undefined &&
        connection.owner === last.mcpServerId &&
        connection.subject.issuer === last.subject.issuer &&
        connection.subject.subject === last.subject.subject,
    );
  }
  const stored = connections.reduce((sum, { generation }) => sum + generation, 0);
  hold('I4 no token set without a completed elicitation', stored === completed.length);
}

function checkSecrets({ elicitations, connections, events, audits, answers }: Observed): void {
  const sealed = JSON.stringify(connections.map(({ sealedTokens }) => sealedTokens));
  hold('I5 the canaries are there to be found', connections.length === 0 || sealed.includes(CANARY));
  // Sealed fields are where secrets belong; everything else is searched.
  const open = JSON.stringify([[...elicitations], connections, events, audits, answers], (key, value: unknown) =>
    key === 'sealedTokens' || key === 'sealed' ? undefined : value,
  );
  hold('I5 no secret outside sealed fields', !open.includes(CANARY));
}

const isWithin = (scopes: readonly string[], others: readonly string[]) => scopes.every(it => others.includes(it));

function hold(invariant: string, holds: boolean): void {
  if (!holds) throw new Error(`Broken: ${invariant}.`);
}
