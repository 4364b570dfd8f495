import { digestOf, type ElicitationId } from '../ids.ts';
import { CANARY } from './invariants.ts';
import type { Call, Known, McpServerId, ModelVisitor } from './reference-model.ts';
import type { Step } from './steps.ts';

/** The attempts begun so far, in stored form, oldest first. */
export interface Begun {
  readonly id: ElicitationId;
  readonly attempt: string;
}

/** Returns the call of a step, and adds what it begins to `begun`. Undefined if nothing suitable exists yet. */
export function callOf(
  step: Step,
  model: { known: ReadonlyMap<ElicitationId, Known> },
  begun: Begun[],
): Call | undefined {
  if (step.verb === 'issue' || step.verb === 'advance') return step;
  const ids = [...model.known.keys()].reverse();
  const id = ids[step.nth % ids.length];
  const known = id && model.known.get(id);
  if (id === undefined || known === undefined) return undefined;

  const begin = () => {
    const begins = `${CANARY}-${begun.length}`;
    begun.push({ id, attempt: digestOf(begins) });
    return begins;
  };
  const visitorOf = (visitor: ModelVisitor | 'the person') => (visitor === 'the person' ? personOf(known) : visitor);
  const ownerOf = (mcpServerId: McpServerId | 'its own') =>
    mcpServerId === 'its own' ? known.mcpServerId : mcpServerId;

  switch (step.verb) {
    case 'expire':
      return { verb: step.verb, id };
    case 'read':
    case 'cancel':
      return { verb: step.verb, id, mcpServerId: ownerOf(step.mcpServerId) };
    case 'redeem':
      return { verb: step.verb, id, mcpServerId: ownerOf(step.mcpServerId), redemption: step.redemption };
    case 'open':
    case 'decline':
      return { verb: step.verb, id, visitor: visitorOf(step.visitor) };
    case 'accept': {
      const agreedScopes = step.agreesTo === 'now' ? known.scopes : known.firstScopes;
      return { verb: step.verb, id, visitor: visitorOf(step.visitor), begins: begin(), agreedScopes };
    }
    case 'approve':
      return { verb: step.verb, id, visitor: visitorOf(step.visitor), isShown: step.isShown };
    case 'beginCheck':
      return { verb: step.verb, id, visitor: visitorOf(step.visitor), begins: begin() };
    case 'submit': {
      const attempt = step.checked ? known.attempt : undefined;
      return { verb: step.verb, id, visitor: visitorOf(step.visitor), isShown: step.isShown, attempt };
    }
    default: {
      const own = begun.filter(each => each.id === id && each.attempt !== known.attempt);
      const foreign = begun.filter(each => each.id !== id);
      const values = { current: known.attempt, earlier: own.at(-1)?.attempt, foreign: foreign.at(-1)?.attempt };
      const attempt = values[step.attempt] ?? 'never begun';
      switch (step.verb) {
        case 'complete':
          return { verb: step.verb, id, attempt, connectionOf: ids[(step.nth + step.connectionOf) % ids.length] ?? id };
        case 'hold':
          return { verb: step.verb, id, attempt, begins: begin() };
        case 'recordCharge':
          return { verb: step.verb, id, attempt, reference: step.reference };
        case 'settle':
          return { verb: step.verb, id, attempt, settlement: step.settlement };
        default:
          return { verb: step.verb, id, attempt };
      }
    }
  }
}

function personOf({ mcpServerId, person }: Known): ModelVisitor {
  return { person, ...(mcpServerId === 'calendar' ? { vouchedBy: mcpServerId } : {}) };
}
