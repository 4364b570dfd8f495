import { describe, expect, test } from 'vitest';
import { type IdentityMode, identityModes, RECORD_LAYOUT } from './elicitation.ts';
import { alice, bob, ISSUER, signedIn } from './testing/samples.ts';
import { isSamePerson, type Visitor } from './visitor.ts';

const forAlice = (identityMode: IdentityMode) =>
  ({
    layout: RECORD_LAYOUT,
    elicitationId: `el_00${'A'.repeat(43)}`,
    version: 1,
    mcpServerId: 'issue-tracker',
    identityMode,
    subject: alice,
    request: { kind: 'authorization', provider: 'github', scopes: [] },
    createdAt: 0,
    expiresAt: 1,
    status: 'pending',
  }) as const;

/** Who is let in to an elicitation for Alice from the issue tracker, by identity mode. */
const visitors: readonly { who: string; visitor: Visitor; may: readonly IdentityMode[] }[] = [
  { who: 'Alice, signed in', visitor: signedIn(alice), may: ['login'] },
  { who: 'Alice, vouched by the issue tracker', visitor: signedIn(alice, 'issue-tracker'), may: ['external'] },
  { who: 'Alice, vouched by another MCP server', visitor: signedIn(alice, 'calendar'), may: [] },
  { who: 'Alice, vouched by nobody in particular', visitor: signedIn(alice, ''), may: [] },
  { who: 'Bob, signed in', visitor: signedIn(bob), may: [] },
  { who: 'Bob, vouched by the issue tracker', visitor: signedIn(bob, 'issue-tracker'), may: [] },
  { who: 'another Alice', visitor: signedIn({ ...alice, issuer: `${ISSUER}/tenant` }), may: [] },
  { who: 'whoever sits at a one-person machine', visitor: { kind: 'loopback' }, may: ['loopback'] },
];

describe.each(visitors)('S05 $who', ({ visitor, may }) => {
  test.each(identityModes)('at an elicitation in mode %s', identityMode => {
    expect(isSamePerson(forAlice(identityMode), visitor)).toBe(may.includes(identityMode));
  });
});
