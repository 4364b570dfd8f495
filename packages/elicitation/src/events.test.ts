import { expect, test } from 'vitest';
import { eventOf } from './events.ts';

const elicitation = {
  elicitationId: `el_4f${'A'.repeat(43)}`,
  version: 3,
  status: 'completed',
  mcpServerId: 'issue-tracker',
  request: { kind: 'authorization', provider: 'github', scopes: ['repo'] },
} as const;

test('names the version, the status and the origin, and nothing else', () => {
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

test('a repeat of an announcement carries the same id', () => {
  expect(eventOf({ ...elicitation })).toEqual(eventOf(elicitation));
});

test('every version of every elicitation has an id of its own', () => {
  const elicitationIds = ['A', 'B'].map(letter => `el_4f${letter.repeat(43)}` as const);
  const ids = elicitationIds.flatMap(elicitationId =>
    [1, 2, 11, 12].map(version => eventOf({ ...elicitation, elicitationId, version }).eventId),
  );
  expect(new Set(ids).size).toBe(8);
});
