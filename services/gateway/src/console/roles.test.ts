import { describe, expect, it } from 'vitest';
import { isConsolePath } from './console-guard.ts';
import { mayActAs, roleOf, roles } from './roles.ts';

const configured = { claim: 'groups', viewer: ['staff'], support: ['help'], operator: ['platform'] };

describe('S137: roles', () => {
  it.each([
    [['staff'], 'viewer'],
    [['staff', 'platform'], 'operator'],
    [['help', 'staff'], 'support'],
    [['Staff', 'platform '], undefined],
    [[], undefined],
    [undefined, undefined],
  ])('the values %j of the claim give the role %j', (groups, role) => {
    expect(roleOf(groups === undefined ? {} : { groups }, configured)).toBe(role);
  });

  it('allow what the roles before them allow, and no more', () => {
    const allowed = roles.map(role => roles.filter(needed => mayActAs(role, needed)));
    expect(allowed).toEqual([['viewer'], ['viewer', 'support'], ['viewer', 'support', 'operator']]);
  });
});

it.each([
  ['/', true],
  ['/elicitations?phase=ended', true],
  ['//evil.example', false],
  ['/\\evil.example', false],
  ['/a\\b', false],
  ['/a b', false],
  ['https://evil.example', false],
  ['/login/callback/console?code=x', false],
  [`/${'a'.repeat(1000)}`, false],
])('S135: returns after a sign-in only to a path of the console: %j %j', (path, isOwn) => {
  expect(isConsolePath(path)).toBe(isOwn);
});
