import { describe, expect, expectTypeOf, test } from 'vitest';
import type { NewCredential } from './credential.ts';
import type { Elicitation, ElicitationStatus, TerminalElicitation } from './elicitation.ts';
import { approval, chargeAt, requests } from './testing/kind-bench.ts';
import {
  assertMove,
  assertTransition,
  type ProposedTransition,
  type TerminalStatus,
  type TransitionElicitation,
  type TransitionEvent,
  timingOf,
  transitions,
} from './transitions.ts';

const events = [
  'engage',
  'retry',
  'hold',
  'complete',
  'decline',
  'fail',
  'cancel',
  'expire',
  'widen',
  'charge',
] as const satisfies TransitionEvent[];

const none = undefined;

/** Written by hand from the design: the target of every event in every status. */
const matrix: Record<ElicitationStatus, readonly (ElicitationStatus | undefined)[]> = {
  //          engage    retry      hold         complete     decline     fail      cancel       expire     widen      charge
  pending: ['active', none, none, none, none, none, 'cancelled', 'expired', 'pending', none],
  active: [none, 'pending', 'verifying', 'completed', 'declined', 'failed', 'cancelled', 'expired', none, 'active'],
  verifying: [none, none, none, 'completed', none, 'failed', none, 'failed', none, none],
  completed: [none, none, none, none, none, none, none, none, none, none],
  failed: [none, none, none, none, none, none, none, none, none, none],
  declined: [none, none, none, none, none, none, none, none, none, none],
  cancelled: [none, none, none, none, none, none, none, none, none, none],
  expired: [none, none, none, none, none, none, none, none, none, none],
};
const statuses = Object.keys(matrix) as ElicitationStatus[];
const terminal = ['completed', 'failed', 'declined', 'cancelled', 'expired'] as const;

function isMove(from: ElicitationStatus, path: readonly TransitionEvent[], to: ElicitationStatus): boolean {
  try {
    assertMove(from, path, to);
    return true;
  } catch (error) {
    expect(error).toMatchObject({ code: 'illegal_transition' });
    return false;
  }
}

/** Every status that the events lead to. */
const destinationsOf = (from: ElicitationStatus, path: readonly TransitionEvent[]) =>
  statuses.filter(to => isMove(from, path, to));

describe('S11 status × event', () => {
  test('the matrix has every status and every event', () => {
    expect(statuses).toHaveLength(8);
    expect(new Set(transitions.map(({ event }) => event))).toEqual(new Set(events));
    expectTypeOf<TransitionEvent>().toEqualTypeOf<(typeof events)[number]>();
  });

  const cells = statuses.flatMap(from => events.map((event, column) => ({ from, event, to: matrix[from][column] })));

  test.each(cells)('$from + $event → $to', ({ from, event, to }) => {
    expect(destinationsOf(from, [event])).toEqual(to === undefined ? [] : [to]);
  });

  test.each<{ from: ElicitationStatus; path: TransitionEvent[]; to: ElicitationStatus | undefined }>([
    { from: 'pending', path: ['engage', 'decline'], to: 'declined' },
    { from: 'active', path: ['retry', 'engage'], to: 'active' },
    { from: 'pending', path: ['engage', 'hold', 'complete'], to: 'completed' },
    { from: 'pending', path: ['widen', 'engage', 'decline'], to: 'declined' },
    { from: 'active', path: ['retry', 'widen'], to: 'pending' },
    { from: 'pending', path: ['engage', 'widen'], to: undefined },
    { from: 'pending', path: ['retry', 'engage'], to: undefined },
    { from: 'pending', path: ['decline', 'engage'], to: undefined },
    { from: 'pending', path: ['engage', 'engage'], to: undefined },
    { from: 'active', path: ['engage', 'retry'], to: undefined },
    { from: 'active', path: ['hold', 'decline'], to: undefined },
    { from: 'active', path: ['complete', 'retry'], to: undefined },
    { from: 'declined', path: ['engage', 'decline'], to: undefined },
  ])('$from + $path → $to', ({ from, path, to }) => {
    expect(destinationsOf(from, path)).toEqual(to === undefined ? [] : [to]);
  });

  test('a transition without an event is illegal, even to the same status', () => {
    expect(statuses.flatMap(from => destinationsOf(from, []))).toEqual([]);
  });
});

describe('S40 a terminal status is final', () => {
  test.each(terminal)('no event leads out of %s', status => {
    expect(events.flatMap(event => destinationsOf(status, [event]))).toEqual([]);
  });

  test('the statuses without a transition are those of ended records', () => {
    expectTypeOf<TerminalStatus>().toEqualTypeOf<TerminalElicitation['status']>();
    expectTypeOf<TerminalStatus>().toEqualTypeOf<(typeof terminal)[number]>();
    expect(statuses.filter(status => events.every(event => destinationsOf(status, [event]).length === 0))).toEqual([
      ...terminal,
    ]);
  });
});

describe('the request', () => {
  const current = {
    status: 'pending',
    request: { kind: 'authorization', provider: 'github', scopes: ['repo'] },
  } as unknown as Elicitation;

  test.each([
    { what: 'stays without widening', events: [], scopes: ['repo', 'user'], isLegal: false },
    { what: 'widens to more', events: ['widen'], scopes: ['repo', 'user'], isLegal: true },
    { what: 'widens to the same', events: ['widen'], scopes: ['repo'], isLegal: true },
    { what: 'never gets less', events: ['widen'], scopes: ['user'], isLegal: false },
    { what: 'never gets nothing', events: ['widen'], scopes: [], isLegal: false },
    { what: 'is named when it widens', events: ['widen'], scopes: undefined, isLegal: false },
  ] as const)('$what', ({ events, scopes, isLegal }) => {
    const next = { status: 'pending', scopes } as const;
    const assertion = () => assertTransition({ current, events, next });
    if (isLegal) expect(assertion).not.toThrow();
    else expect(assertion).toThrow(expect.objectContaining({ code: 'illegal_transition' }));
  });

  test('a retry does not change the request', () => {
    const active = { ...current, status: 'active', attempt: 'attempt' } as Elicitation;
    const next = { status: 'pending', scopes: ['repo', 'user'] } as const;
    expect(() => assertTransition({ current: active, events: ['retry'], next })).toThrow(
      expect.objectContaining({ code: 'illegal_transition' }),
    );
  });
});

describe('approvals, charges and typed values', () => {
  const { payment, approval: approving, confirmation, once, lasting, form } = requests;
  const of = (request: object, more: object = { status: 'pending' }) =>
    ({ request, ...more }) as unknown as Elicitation;
  const active = { status: 'active', attempt: 'a', approval } as const;
  const charging = of(payment, active);
  const charged = of(payment, { ...active, charge: chargeAt });
  const credentialId = 'cr_1';
  const paid = {
    kind: 'payment',
    digest: payment.digest,
    approval,
    processor: 'stripe',
    processorReference: 'pi',
  } as const;
  const kept = { credentialId } as unknown as NewCredential;
  const done = (outcome: object) => ({ status: 'completed', outcome }) as TransitionElicitation['next'];

  const legal: { what: string; move: ProposedTransition }[] = [
    { what: 'an approval that engages', move: { current: of(payment), events: ['engage'], next: active } },
    { what: 'a charge', move: { current: charging, events: ['charge'], next: { ...active, charge: chargeAt } } },
    { what: 'what is paid', move: { current: charged, events: ['complete'], next: done(paid) } },
    {
      what: 'what is only approved',
      move: {
        current: of(approving),
        events: ['engage', 'complete'],
        next: done({ kind: 'payment', digest: approving.digest, approval, processor: 'none' }),
      },
    },
    {
      what: 'a form',
      move: {
        current: of(form),
        events: ['engage', 'complete'],
        next: done({ kind: 'form' }),
        putResult: { sealed: 's' },
      },
    },
    {
      what: 'a lasting credential',
      move: {
        current: of(lasting),
        events: ['engage', 'complete'],
        next: done({ kind: 'credential', name: lasting.name, credentialId }),
        putCredential: kept,
      },
    },
    { what: 'a check', move: { current: of(once), events: ['engage'], next: { status: 'active', attempt: 'a' } } },
  ];
  test.each(legal)('$what is legal', ({ move }) => {
    expect(() => assertTransition(move)).not.toThrow();
  });

  const completing = (request: object, outcome: object, more: object = {}) =>
    ({ current: of(request), events: ['engage', 'complete'], next: done(outcome), ...more }) as ProposedTransition;
  const illegal: { what: string; move: ProposedTransition }[] = [
    {
      what: 'engaging a payment without approval',
      move: { current: of(payment), events: ['engage'], next: { status: 'active', attempt: 'a' } },
    },
    { what: 'approving by engaging a form', move: { current: of(form), events: ['engage'], next: active } },
    {
      what: 'a charge with the approval',
      move: { current: of(payment), events: ['engage'], next: { ...active, charge: chargeAt } },
    },
    { what: 'charging without a charge', move: { current: charging, events: ['charge'], next: active } },
    { what: 'charging twice', move: { current: charged, events: ['charge'], next: { ...active, charge: chargeAt } } },
    {
      what: 'charging another attempt',
      move: { current: charging, events: ['charge'], next: { ...active, attempt: 'b', charge: chargeAt } },
    },
    {
      what: 'charging another approval',
      move: {
        current: charging,
        events: ['charge'],
        next: { ...active, approval: { ...approval, at: 1 }, charge: chargeAt },
      },
    },
    {
      what: 'charging what is not approved',
      move: {
        current: of(once, { status: 'active', attempt: 'a' }),
        events: ['charge'],
        next: { ...active, charge: chargeAt },
      },
    },
    {
      what: 'engaging on the way to a charge',
      move: { current: charging, events: ['retry', 'engage', 'charge'], next: { ...active, charge: chargeAt } },
    },
    {
      what: 'paying other terms',
      move: { current: charging, events: ['complete'], next: done({ ...paid, digest: 'x' }) },
    },
    {
      what: 'paying by another processor',
      move: { current: charging, events: ['complete'], next: done({ ...paid, processor: 'none' }) },
    },
    {
      what: 'paying without a reference',
      move: { current: charging, events: ['complete'], next: done({ ...paid, processorReference: undefined }) },
    },
    {
      what: 'paying by another approval',
      move: { current: charging, events: ['complete'], next: done({ ...paid, approval: { ...approval, at: 1 } }) },
    },
    { what: 'paying what was never charged', move: completing(payment, paid) },
    { what: 'confirming other terms', move: completing(confirmation, { kind: 'confirmation', digest: 'x', approval }) },
    { what: 'an outcome of another kind', move: completing(form, { kind: 'confirmation', digest: 'x', approval }) },
    { what: 'an authorization out of a form', move: completing(form, { kind: 'authorization' }) },
    { what: 'a form without a result', move: completing(form, { kind: 'form' }) },
    {
      what: 'a credential under another name',
      move: completing(once, { kind: 'credential', name: 'x' }, { putResult: {} }),
    },
    {
      what: 'a lasting credential without it',
      move: completing(lasting, { kind: 'credential', name: lasting.name, credentialId }),
    },
    {
      what: 'a lasting credential under another id',
      move: completing(
        lasting,
        { kind: 'credential', name: lasting.name, credentialId: 'cr_2' },
        { putCredential: kept },
      ),
    },
    {
      what: 'a result of a lasting credential',
      move: completing(lasting, { kind: 'credential', name: lasting.name }, { putResult: {} }),
    },
    {
      what: 'a result without completing',
      move: { current: of(form), events: ['cancel'], next: { status: 'cancelled' }, putResult: { sealed: 's' } },
    },
  ];
  test.each(illegal)('$what is illegal', ({ move }) => {
    expect(() => assertTransition(move)).toThrow(expect.objectContaining({ code: 'illegal_transition' }));
  });

  test('each transition has its timing', () => {
    const verifying = of({ kind: 'authorization' }, { status: 'verifying', attempt: 'a' });
    const engaged = of({ kind: 'authorization' }, { status: 'active', attempt: 'a' });
    const timings = (current: Elicitation) =>
      Object.fromEntries(events.map(event => [event, timingOf({ current, events: [event] })]));
    const early = Object.fromEntries(events.map(event => [event, event === 'expire' ? 'late' : 'early']));
    for (const current of [of(payment), of(form), engaged]) expect(timings(current)).toEqual(early);
    expect(timings(verifying)).toEqual({ ...early, fail: 'any' });
    const any = Object.fromEntries(events.map(event => [event, 'any']));
    expect(timings(charging)).toEqual({ ...any, expire: 'late', retry: 'early' });
  });
});
