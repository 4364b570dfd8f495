import { describe, expect, expectTypeOf, test } from 'vitest';
import type { Elicitation, ElicitationStatus, TerminalElicitation } from './elicitation.ts';
import {
  assertMove,
  assertTransition,
  destinationOf,
  type TerminalStatus,
  type TransitionEvent,
  transitionEvents,
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

/** Written by hand from the design: every status, every event, where it leads. */
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

describe('S11 status × event', () => {
  test('the matrix has every status and every event', () => {
    expect(statuses).toHaveLength(8);
    expect(new Set(transitionEvents)).toEqual(new Set(events));
    expect(transitionEvents).toHaveLength(10);
    expectTypeOf<TransitionEvent>().toEqualTypeOf<(typeof events)[number]>();
  });

  const cells = statuses.flatMap(from => events.map((event, column) => ({ from, event, to: matrix[from][column] })));

  test.each(cells)('$from + $event → $to', ({ from, event, to }) => {
    expect(destinationOf(from, [event])).toBe(to);
    for (const status of statuses) {
      if (status === to) expect(() => assertMove(from, [event], status)).not.toThrow();
      else
        expect(() => assertMove(from, [event], status)).toThrow(
          expect.objectContaining({ code: 'illegal_transition' }),
        );
    }
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
    expect(destinationOf(from, path)).toBe(to);
  });

  test('without an event there is no move, not even to where it is', () => {
    for (const from of statuses) {
      for (const to of statuses)
        expect(() => assertMove(from, [], to)).toThrow(expect.objectContaining({ code: 'illegal_transition' }));
    }
  });
});

describe('S40 an end is final', () => {
  test.each(terminal)('nothing leads out of %s', status => {
    expect(events.map(event => destinationOf(status, [event]))).toEqual(events.map(() => undefined));
  });

  test('the statuses without a way out are those of the records that ended', () => {
    expectTypeOf<TerminalStatus>().toEqualTypeOf<TerminalElicitation['status']>();
    expectTypeOf<TerminalStatus>().toEqualTypeOf<(typeof terminal)[number]>();
    expect(statuses.filter(status => events.every(event => destinationOf(status, [event]) === undefined))).toEqual([
      ...terminal,
    ]);
  });
});

describe('what is asked', () => {
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
    const next = { status: 'pending', ...(scopes === undefined ? {} : { scopes }) } as const;
    const assertion = () => assertTransition({ current, events, next });
    if (isLegal) expect(assertion).not.toThrow();
    else expect(assertion).toThrow(expect.objectContaining({ code: 'illegal_transition' }));
  });

  test('does not change by a return', () => {
    const active = { ...current, status: 'active', attempt: 'attempt' } as Elicitation;
    const next = { status: 'pending', scopes: ['repo', 'user'] } as const;
    expect(() => assertTransition({ current: active, events: ['retry'], next })).toThrow(
      expect.objectContaining({ code: 'illegal_transition' }),
    );
  });
});
