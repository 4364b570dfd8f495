import type { Connection } from '../connection.ts';
import type { Credential } from '../credential.ts';
import { type Approval, type AuditEvent, type Elicitation, isOfKind, isTerminal } from '../elicitation.ts';
import type { ElicitationEvent } from '../events.ts';
import type { ElicitationId } from '../ids.ts';
import { scopesOf } from './samples.ts';

/** The mark of every secret in the model-based test. */
export const CANARY = 'canary';

export interface Observed {
  /** Every acknowledged elicitation in its stored form; undefined if it is gone. */
  readonly elicitations: ReadonlyMap<ElicitationId, Elicitation | undefined>;
  readonly connections: readonly Connection[];
  readonly credentials: readonly Credential[];
  /** The approvals that the right person gave to exactly the request. */
  readonly approvals: ReadonlyMap<ElicitationId, readonly Approval[]>;
  /** The idempotency keys under which a result was redeemed. */
  readonly redemptions: ReadonlyMap<ElicitationId, ReadonlySet<string>>;
  readonly events: readonly ElicitationEvent[];
  readonly audits: readonly AuditEvent[];
  /** Every result and error that any caller got. */
  readonly answers: readonly unknown[];
}

const terminalTypes = ['completed', 'failed', 'declined', 'cancelled', 'expired'];

/** Checks I1 to I6 after every step against everything observable. */
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
      checkApproval(elicitation, observed);
      checkRedemption(elicitation, observed);
      checkAnnouncements(elicitation, observed);
    }
    checkConnections(observed);
    checkCredentials(observed);
    checkSecrets(observed);
  }

  /** Call this after everything has expired and everything due has ended. @throws Error as `check` */
  checkAllEnded({ elicitations }: Observed): void {
    for (const elicitation of elicitations.values())
      hold('I1 every elicitation ends', elicitation !== undefined && isTerminal(elicitation));
  }

  #checkEnd(elicitation: Elicitation): void {
    const { elicitationId } = elicitation;
    const { redeemedAt: _, ...end } = { redeemedAt: undefined, ...elicitation };
    const record = JSON.stringify(end);
    const ended = this.#asEnded.get(elicitationId);
    if (ended !== undefined) hold('I2 an end never changes', record === ended);
    else if (isTerminal(elicitation)) this.#asEnded.set(elicitationId, record);
  }

  #checkOrigin(elicitationId: ElicitationId, elicitation: Elicitation): void {
    const { mcpServerId, subject, identityMode, createdAt, expiresAt } = elicitation;
    const scopes = scopesOf(elicitation);
    // The scopes of an authorization may grow; the rest of the request never changes.
    const request = isOfKind(elicitation, 'authorization')
      ? { ...elicitation.request, scopes: [] }
      : elicitation.request;
    const origin = JSON.stringify([mcpServerId, subject, identityMode, request, createdAt, expiresAt]);
    const asked = this.#asAsked.get(elicitationId) ?? [];
    hold('the request only ever grows', isWithin(asked, scopes));
    this.#asAsked.set(elicitationId, scopes);
    if (elicitation.status === 'completed') {
      const { outcome } = elicitation;
      const granted = outcome.kind === 'authorization' ? outcome.scopes : [];
      hold('an ask is completed by what was asked', outcome.kind === request.kind && isWithin(scopes, granted));
    }
    const issued = this.#asIssued.get(elicitationId);
    if (issued === undefined) this.#asIssued.set(elicitationId, origin);
    else hold('I6 subject and request never change', origin === issued);
  }
}

function checkAnnouncements(elicitation: Elicitation, { events, audits }: Observed): void {
  const { elicitationId, version, status } = elicitation;
  const about = events.filter(event => event.elicitationId === elicitationId);
  const versions = about.map(({ eventId }) => Number(eventId.slice(eventId.lastIndexOf('.') + 1)));
  hold(
    'I3 every version is announced, in order, with a unique id',
    `${versions}` === `${Array.from({ length: version }, (_, n) => n + 1)}`,
  );
  hold('I3 the last announcement has the current status', about.at(-1)?.type === `elicitation.${status}`);
  hold(
    'I6 announcements go to the MCP server that issued the request',
    about.every(event => event.mcpServerId === elicitation.mcpServerId),
  );
  const ends = about.filter(({ type }) => terminalTypes.includes(type.slice('elicitation.'.length)));
  const isEnded = isTerminal(elicitation);
  hold('I1 exactly one end is announced', ends.length === (isEnded ? 1 : 0));
  const audited = audits.filter(event => event.elicitationId === elicitationId).map(({ type }) => type);
  const endsAs = status === 'completed' && isEndedByApproval(elicitation) ? 'approved' : status;
  const types = isEndedByApproval(elicitation) ? [...terminalTypes, 'approved'] : terminalTypes;
  hold('every end is audited once', `${audited.filter(type => types.includes(type))}` === (isEnded ? endsAs : ''));
}

const isEndedByApproval = ({ request }: Elicitation) =>
  request.kind === 'confirmation' || (request.kind === 'payment' && request.processor === 'none');

function checkApproval(elicitation: Elicitation, { approvals, audits }: Observed): void {
  const given = (approvals.get(elicitation.elicitationId) ?? []).map(({ at }) => at);
  const approval = 'approval' in elicitation ? elicitation.approval : undefined;
  if (approval !== undefined) hold('S36 nothing is charged that was not approved', given.includes(approval.at));
  const isPayment = elicitation.request.kind === 'payment';
  hold('an active payment is an approved one', !isPayment || elicitation.status !== 'active' || approval !== undefined);
  const approved = audits.filter(it => it.type === 'approved' && it.elicitationId === elicitation.elicitationId);
  hold('S37 no more approvals than were given', approved.length <= given.length);
  if (elicitation.status !== 'completed') return;
  const { outcome, request } = elicitation;
  if (outcome.kind !== 'payment' && outcome.kind !== 'confirmation') return;
  hold('S36 the approved terms are the requested ones', 'digest' in request && outcome.digest === request.digest);
  hold('S36 nothing counts as approved that was not', given.includes(outcome.approval.at));
  if (outcome.kind === 'payment' && request.kind === 'payment')
    hold(
      'paid is what a processor has taken',
      outcome.processor === request.processor &&
        (outcome.processorReference === undefined) === (request.processor === 'none'),
    );
}

function checkRedemption(elicitation: Elicitation, { redemptions, audits }: Observed): void {
  const { elicitationId } = elicitation;
  const isRedeemed = elicitation.status === 'completed' && elicitation.redeemedAt !== undefined;
  hold('S38 redeemed under one name at most', (redemptions.get(elicitationId)?.size ?? 0) === (isRedeemed ? 1 : 0));
  const audited = audits.filter(event => event.type === 'redeemed' && event.elicitationId === elicitationId);
  hold('S38 a redemption is audited once', audited.length === (isRedeemed ? 1 : 0));
}

function checkCredentials({ elicitations, credentials }: Observed): void {
  const brought = [...elicitations.values()].flatMap(it =>
    it?.status === 'completed' && it.outcome.kind === 'credential' ? [it.outcome.credentialId] : [],
  );
  for (const credential of credentials) {
    const { credentialId, generation } = credential;
    hold('I4 one value per completed elicitation', generation === brought.filter(id => id === credentialId).length);
    const last = elicitations.get(credential.elicitationId);
    hold(
      'I6 a credential belongs to the person and the MCP server of its elicitation',
      last?.subject.subject === credential.subject.subject && last.mcpServerId === credential.owner,
    );
  }
}

function checkConnections({ elicitations, connections }: Observed): void {
  const completed = [...elicitations.values()].flatMap(it =>
    it?.status === 'completed' && it.outcome.kind === 'authorization' ? [it.outcome.connectionId] : [],
  );
  for (const connection of connections) {
    const brought = completed.filter(id => id === connection.connectionId);
    hold('I4 one token set per completed elicitation', connection.generation === brought.length);
    const last = elicitations.get(connection.elicitationId);
    hold(
      'I6 a connection belongs to the person and the MCP server of its elicitation',
      last !== undefined &&
        connection.owner === last.mcpServerId &&
        connection.subject.issuer === last.subject.issuer &&
        connection.subject.subject === last.subject.subject,
    );
  }
  const stored = connections.reduce((sum, { generation }) => sum + generation, 0);
  hold('I4 no token set without a completed elicitation', stored === completed.length);
}

const sealedFields = ['sealedTokens', 'sealedValues', 'sealed'];

function checkSecrets({ elicitations, connections, credentials, events, audits, answers }: Observed): void {
  const sealed = [...connections.map(({ sealedTokens }) => sealedTokens), ...credentials.map(it => it.sealedValues)];
  hold(
    'I5 the sealed fields contain the canaries',
    sealed.every(value => value.includes(CANARY)),
  );
  // Secrets belong in sealed fields; everything else is searched.
  const everything = [[...elicitations], connections, credentials, events, audits, answers];
  const open = JSON.stringify(everything, (key, value: unknown) => (sealedFields.includes(key) ? undefined : value));
  hold('I5 no secret outside sealed fields', !open.includes(CANARY));
}

const isWithin = (scopes: readonly string[], others: readonly string[]) => scopes.every(it => others.includes(it));

function hold(invariant: string, holds: boolean): void {
  if (!holds) throw new Error(`Broken: ${invariant}.`);
}
