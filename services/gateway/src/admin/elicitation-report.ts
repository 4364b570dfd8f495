import { defaultText } from '@postern/api';
import {
  type Approval,
  type Elicitation,
  type ElicitationRequest,
  isTerminal,
  type LoggedEvent,
  matchCodeOf,
  type Outcome,
} from '@postern/elicitation';
import type { Pseudonyms } from '../platform/audit/audit-events.ts';

export interface ReportedEvent {
  /** Time of the Redis server. */
  readonly at: string;
  readonly type: string;
  readonly eventId: string;
}

const iso = (epochMs: number): string => new Date(epochMs).toISOString();

/**
 * Returns what support may know of an elicitation: status, request, MCP server and times. Contains no user input, no sealed value and no
 * digest that authorises anything. Users appear under their pseudonym. Omits messages and values of facts, because MCP servers write
 * names and addresses into them.
 */
export function reportOf(elicitation: Elicitation, logged: readonly LoggedEvent[], pseudonym: Pseudonyms) {
  const { elicitationId, status, version, mcpServerId, identityMode, subject, request, requestedBy } = elicitation;
  return {
    elicitationId,
    matchCode: matchCodeOf(elicitationId),
    kind: request.kind,
    status,
    ...endOf(elicitation),
    mcpServerId,
    claimedToBeAskedBy: requestedBy,
    subject: pseudonym(subject),
    identityMode,
    createdAt: iso(elicitation.createdAt),
    expiresAt: iso(elicitation.expiresAt),
    ...(isTerminal(elicitation) ? { endedAt: iso(elicitation.endedAt) } : {}),
    version,
    asked: askedOf(request),
    events: logged.map(eventOf),
  };
}

function eventOf({ position, event }: LoggedEvent): ReportedEvent {
  return { at: iso(Number(position.split('-', 1)[0])), type: event.type, eventId: event.eventId };
}

/** The outcome, or the state of the current attempt. */
function endOf(elicitation: Elicitation) {
  switch (elicitation.status) {
    case 'pending':
      return {
        retryReason: elicitation.retryReason,
        missingScopes: elicitation.missing,
      };
    case 'active':
      return {
        approval: elicitation.approval && approvalOf(elicitation.approval),
        chargeReference: elicitation.charge?.reference,
      };
    case 'failed':
      return { failure: elicitation.failure };
    case 'completed':
      return {
        outcome: outcomeOf(elicitation.outcome),
        redeemedAt: elicitation.redeemedAt === undefined ? undefined : iso(elicitation.redeemedAt),
      };
    default:
      return {};
  }
}

const approvalOf = ({ method, identity, at }: Approval) => ({ method, identity, at: iso(at) });

function outcomeOf(outcome: Outcome) {
  switch (outcome.kind) {
    case 'authorization':
      return { connectionId: outcome.connectionId, scopes: outcome.scopes };
    case 'payment': {
      const { processor, processorReference: reference, mode } = outcome;
      const paid = {
        processor,
        processorReference: reference,
        mode,
      };
      return { approval: approvalOf(outcome.approval), ...paid };
    }
    case 'confirmation':
      return { approval: approvalOf(outcome.approval) };
    case 'credential':
      return outcome.credentialId === undefined ? {} : { credentialId: outcome.credentialId };
    case 'form':
      return {};
  }
}

function askedOf(request: ElicitationRequest) {
  switch (request.kind) {
    case 'authorization': {
      const { provider, scopes, resource, expectedAccount } = request;
      return {
        provider,
        scopes,
        resource,
        // The account itself stays private.
        insistsOnAccount: expectedAccount !== undefined,
      };
    }
    case 'payment': {
      const { terms, processor } = request;
      const { payee, amount, items = [], reference } = terms;
      return { payee: payee.name, ...amount, items: items.length, reference, processor };
    }
    case 'confirmation': {
      const { title, action, danger, facts } = request.terms;
      return {
        title: defaultText(title),
        action: action && defaultText(action),
        danger,
        facts: facts.map(({ label }) => defaultText(label)),
      };
    }
    case 'credential': {
      const { name, title, fields, retention } = request;
      return { name, title: defaultText(title), retention, fields: fields.map(field => field.name) };
    }
    case 'form': {
      const { title, requestedSchema, secretFields } = request;
      const properties = requestedSchema['properties'];
      return {
        title: title && defaultText(title),
        fields: typeof properties === 'object' && properties !== null ? Object.keys(properties) : [],
        secretFields,
      };
    }
  }
}
