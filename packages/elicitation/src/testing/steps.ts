import fc from 'fast-check';
import type { Settlement } from '../elicitation-service.ts';
import { samples } from './kind-bench.ts';
import {
  type McpServerId,
  type ModelVisitor,
  mcpServerIds,
  type Person,
  people,
  type What,
} from './reference-model.ts';
import { MINUTE, TTL_MS } from './samples.ts';

/** A verb before it is known which elicitations exist. `nth` counts from the newest. */
export type Step =
  | { verb: 'issue'; mcpServerId: McpServerId; person: Person; what: What; scopes: readonly string[] }
  | { verb: 'read' | 'cancel'; nth: number; mcpServerId: McpServerId | 'its own' }
  | { verb: 'open' | 'decline'; nth: number; visitor: ModelVisitor | 'the person' }
  | { verb: 'accept'; nth: number; visitor: ModelVisitor | 'the person'; agreesTo: 'now' | 'at first' }
  | { verb: 'retry' | 'hold' | 'fail'; nth: number; attempt: 'current' | 'earlier' | 'foreign' }
  | { verb: 'complete'; nth: number; attempt: 'current' | 'earlier' | 'foreign'; connectionOf: number }
  | {
      verb: 'approve' | 'submit';
      nth: number;
      visitor: ModelVisitor | 'the person';
      isShown: boolean;
      checked: boolean;
    }
  | { verb: 'beginCheck'; nth: number; visitor: ModelVisitor | 'the person' }
  | { verb: 'recordCharge'; nth: number; attempt: 'current' | 'earlier' | 'foreign'; reference: string }
  | { verb: 'settle'; nth: number; attempt: 'current' | 'earlier' | 'foreign'; settlement: Settlement }
  | { verb: 'redeem'; nth: number; mcpServerId: McpServerId | 'its own'; redemption: string }
  | { verb: 'expire'; nth: number }
  | { verb: 'advance'; ms: number };

const mcpServerId = fc.constantFrom(...mcpServerIds);
const nth = fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(5) });
const attempt = fc.oneof(
  { weight: 3, arbitrary: fc.constant('current' as const) },
  { weight: 1, arbitrary: fc.constantFrom('earlier' as const, 'foreign' as const) },
);
const visitor = fc.oneof(
  { weight: 3, arbitrary: fc.constant('the person' as const) },
  {
    weight: 1,
    arbitrary: fc.record<ModelVisitor, 'person'>(
      { person: fc.constantFrom(...people, 'mallory', 'anonymous'), vouchedBy: mcpServerId },
      { requiredKeys: ['person'] },
    ),
  },
);
const caller = fc.oneof(
  { weight: 3, arbitrary: fc.constant('its own' as const) },
  { weight: 1, arbitrary: mcpServerId },
);
/** Mostly valid steps, so that runs get far, and enough that must be refused. */
export const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      verb: fc.constant('issue' as const),
      mcpServerId,
      person: fc.constantFrom(...people),
      what: fc.oneof(
        { weight: 4, arbitrary: fc.constant('authorization' as const) },
        { weight: 2, arbitrary: fc.constant('payment' as const) },
        { weight: 3, arbitrary: fc.constantFrom(...samples) },
      ),
      scopes: fc.constantFrom(['repo'], ['admin'], ['repo', 'admin', 'gist']),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.oneof(
      { weight: 2, arbitrary: fc.record({ verb: fc.constantFrom('open', 'decline'), nth, visitor }) },
      {
        weight: 3,
        arbitrary: fc.record({
          verb: fc.constant('accept' as const),
          nth,
          visitor,
          agreesTo: fc.constantFrom('now', 'now', 'at first'),
        }),
      },
    ),
  },
  { weight: 4, arbitrary: fc.record({ verb: fc.constantFrom('retry', 'hold', 'hold', 'fail'), nth, attempt }) },
  {
    weight: 3,
    arbitrary: fc.record({
      verb: fc.constant('complete' as const),
      nth,
      attempt,
      connectionOf: fc.constantFrom(0, 0, 0, 1),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      verb: fc.constantFrom('approve' as const, 'submit' as const),
      nth,
      visitor,
      isShown: fc.constantFrom(true, true, true, false),
      checked: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ verb: fc.constant('beginCheck' as const), nth, visitor }) },
  {
    weight: 1,
    arbitrary: fc.record({
      verb: fc.constant('recordCharge' as const),
      nth,
      attempt,
      reference: fc.constantFrom('cs-1', 'cs-1', 'cs-2'),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      verb: fc.constant('settle' as const),
      nth,
      attempt,
      settlement: fc.constantFrom<Settlement>(
        { result: 'paid', processorReference: 'pi-1' },
        { result: 'paid', processorReference: 'pi-2' },
        ...(['retry', 'retry', 'decline', 'cancel', 'expire'] as const).map(as => ({ result: 'closed' as const, as })),
        { result: 'refused' },
        { result: 'mismatch' },
      ),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      verb: fc.constant('redeem' as const),
      nth,
      mcpServerId: caller,
      redemption: fc.constantFrom('one', 'one', 'two'),
    }),
  },
  { weight: 2, arbitrary: fc.record({ verb: fc.constantFrom('read', 'cancel'), nth, mcpServerId: caller }) },
  { weight: 1, arbitrary: fc.record({ verb: fc.constant('expire' as const), nth }) },
  {
    weight: 1,
    arbitrary: fc.record({
      verb: fc.constant('advance' as const),
      ms: fc.constantFrom(1, MINUTE, TTL_MS - 1, TTL_MS),
    }),
  },
);
