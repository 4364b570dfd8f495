import { randomBytes } from 'node:crypto';
import { type SealedRecord, sealedKinds } from '@postern/elicitation';
import { createKeyRing, createVault, type SealContext } from '@postern/vault';
import { expect, test } from 'vitest';
import { sealContextOf } from './rewrap.ts';
import { connectionContext, credentialContext, lastingPurposes, resultContext } from './seal-contexts.ts';

const elicitationId = `el_00${'A'.repeat(43)}` as const;
const subject = { issuer: 'https://id.example', subject: 'alice' };
const otherPeople = {
  'another issuer': { ...subject, issuer: 'https://other.example' },
  'another subject': { ...subject, subject: 'bob' },
};
const other = `el_00${'B'.repeat(43)}` as const;

const connection = { owner: 'tracker', subject, elicitationId, provider: 'github', resource: 'https://api.example' };
const result = { elicitationId, mcpServerId: 'tracker', subject, request: { kind: 'form' } } as const;
const credential = { owner: 'tracker', subject, name: 'acme-api', elicitationId };
const { resource: _, ...withoutResource } = connection;

const people = Object.entries(otherPeople);
const cases: readonly (readonly [what: string, sealedFor: SealContext, openedFor: SealContext])[] = [
  ['tokens, another owner', connectionContext(connection), connectionContext({ ...connection, owner: 'calendar' })],
  [
    'tokens, another elicitation',
    connectionContext(connection),
    connectionContext({ ...connection, elicitationId: other }),
  ],
  ['tokens, another provider', connectionContext(connection), connectionContext({ ...connection, provider: 'gitlab' })],
  [
    'tokens, another resource',
    connectionContext(connection),
    connectionContext({ ...connection, resource: 'https://b.example' }),
  ],
  ['tokens, no resource', connectionContext(connection), connectionContext(withoutResource)],
  ...people.map(
    ([what, person]) =>
      [
        `tokens, ${what}`,
        connectionContext(connection),
        connectionContext({ ...connection, subject: person }),
      ] as const,
  ),
  ['a result, another MCP server', resultContext(result), resultContext({ ...result, mcpServerId: 'calendar' })],
  ['a result, another elicitation', resultContext(result), resultContext({ ...result, elicitationId: other })],
  ['a result, another kind', resultContext(result), resultContext({ ...result, request: { kind: 'credential' } })],
  ...people.map(
    ([what, person]) =>
      [`a result, ${what}`, resultContext(result), resultContext({ ...result, subject: person })] as const,
  ),
  [
    'a credential, another owner',
    credentialContext(credential),
    credentialContext({ ...credential, owner: 'calendar' }),
  ],
  [
    'a credential, another name',
    credentialContext(credential),
    credentialContext({ ...credential, name: 'other-api' }),
  ],
  [
    'a credential, another elicitation',
    credentialContext(credential),
    credentialContext({ ...credential, elicitationId: other }),
  ],
  ...people.map(
    ([what, person]) =>
      [
        `a credential, ${what}`,
        credentialContext(credential),
        credentialContext({ ...credential, subject: person }),
      ] as const,
  ),
  [
    'a result as a credential',
    resultContext({ ...result, request: { kind: 'credential' } }),
    credentialContext(credential),
  ],
];

test.each(cases)(
  'S50: a value sealed for one context does not open in another: %s',
  async (_what, sealedFor, openedFor) => {
    const vault = createVault(createKeyRing([{ kid: 'first', key: randomBytes(32) }]));
    const sealed = await vault.seal('secret', sealedFor);
    expect(await vault.open(sealed, { ...sealedFor })).toBe('secret');
    await expect(vault.open(sealed, openedFor)).rejects.toMatchObject({ code: 'not_authentic' });
  },
);

test.each(sealedKinds)('S121: a stored %s is sealed by the first key, not as something under way', kind => {
  const record = { ...connection, ...result, name: 'a', id: 'x', kind, sealed: '' };
  expect(lastingPurposes).toContain(sealContextOf(record as unknown as SealedRecord).purpose);
});
