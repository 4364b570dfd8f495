import { describe, expect, test } from 'vitest';
import { compareFeedPositions, eventOf } from './events.ts';

const elicitation = {
  elicitationId: `el_4f${'A'.repeat(43)}`,
  version: 3,
  status: 'completed',
  mcpServerId: 'issue-tracker',
  request: { kind: 'authorization', provider: 'github', scopes: ['repo'] },
} as const;

test('an event contains the version, the status and the origin, and nothing else', () => {
  expect(
    eventOf({ ...elicitation, message: 'please', subject: 'alice', outcome: { scopes: ['repo'] } } as never),
  ).toEqual({
    eventId: `ev_4f${'A'.repeat(43)}.3`,
    type: 'elicitation.completed',
    elicitationId: elicitation.elicitationId,
    mcpServerId: 'issue-tracker',
    kind: 'authorization',
  });
});

test('a repeated event has the same id', () => {
  expect(eventOf({ ...elicitation })).toEqual(eventOf(elicitation));
});

test('every version of every elicitation has a unique event id', () => {
  const elicitationIds = ['A', 'B'].map(letter => `el_4f${letter.repeat(43)}` as const);
  const ids = elicitationIds.flatMap(elicitationId =>
    [1, 2, 11, 12].map(version => eventOf({ ...elicitation, elicitationId, version }).eventId),
  );
  expect(new Set(ids).size).toBe(8);
});

describe('positions in a feed', () => {
  test('feed positions are ordered by time, then by count, as numbers', () => {
    const ordered = ['0-0', '0-1', '9-0', '10-0', '10-2', '10-10', '11-0'];
    expect(ordered.toReversed().toSorted(compareFeedPositions)).toEqual(ordered);
    expect(compareFeedPositions('10-2', '10-2')).toBe(0);
  });
});
