import { describe, expect, it } from 'vitest';
import { subjectFromClaims } from './subject-claims.ts';

describe('S05: subjectFromClaims', () => {
  it('takes one claim as it is', () => {
    expect(subjectFromClaims({ sub: 'a+b' }, 'sub')).toBe('a+b');
  });

  it('joins several in the configured order', () => {
    expect(subjectFromClaims({ oid: 'o', tid: 't', sub: 's' }, 'tid+oid')).toBe('t+o');
  });

  it.each([
    ['missing', {}],
    ['empty', { tid: 't', oid: '' }],
    ['a number', { tid: 't', oid: 7 }],
    ['an object', { tid: 't', oid: { toString: () => 'o' } }],
    ['too long', { tid: 't', oid: 'o'.repeat(256) }],
    ['one that would make two people one', { tid: 't+o', oid: 'x' }],
    ['inherited', Object.create({ tid: 't', oid: 'o' }) as Record<string, unknown>],
  ])('gives nothing for a claim that is %s', (_, claims) => {
    expect(subjectFromClaims(claims, 'tid+oid')).toBeUndefined();
  });
});
