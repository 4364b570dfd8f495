import { describe, expect, test } from 'vitest';
import { type IdentityMode, identityModes } from './elicitation.ts';
import { isSamePerson, type Visitor } from './same-person-check.ts';
import { alice, bob, ISSUER, signedIn } from './testing/samples.ts';

const forAlice = (identityMode: IdentityMode) =>
  ({
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

/** Who may open an elicitation for Alice from the issue tracker, by identity mode. */
const visitors: readonly { who: string; visitor: Visitor; may: readonly IdentityMode[] }[] = [
  { who: 'Alice, signed in', visitor: signedIn(alice), may: ['login'] },
  { who: 'Alice, vouched by the issue tracker', visitor: signedIn(alice, 'issue-tracker'), may: ['external'] },
  { who: 'Alice, vouched by another MCP server', visitor: signedIn(alice, 'calendar'), may: [] },
  { who: 'Alice, vouched for by an empty id', visitor: signedIn(alice, ''), may: [] },
  { who: 'Bob, signed in', visitor: signedIn(bob), may: [] },
  { who: 'Bob, vouched by the issue tracker', visitor: signedIn(bob, 'issue-tracker'), may: [] },
  { who: 'another Alice', visitor: signedIn({ ...alice, issuer: `${ISSUER}/tenant` }), may: [] },
  { who: 'a visitor in identity mode loopback', visitor: { kind: 'loopback' }, may: ['loopback'] },
];

describe.each(visitors)('S05 $who', ({ visitor, may }) => {
  test.each(identityModes)('a visitor opens an elicitation in mode %s only if allowed', identityMode => {
    expect(isSamePerson(forAlice(identityMode), visitor)).toBe(may.includes(identityMode));
  });
});
