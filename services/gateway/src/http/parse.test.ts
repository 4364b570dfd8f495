import { issueElicitationSchema } from '@postern/api';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { parse } from './parse.ts';
import { ProblemError } from './problem-error.ts';

function refusalOf(schema: z.ZodType, value: unknown): ProblemError {
  try {
    parse(schema, value, 'body');
  } catch (error) {
    if (error instanceof ProblemError) return error;
    throw error;
  }
  throw new Error('it was accepted');
}

describe('checking outside data', () => {
  it('gives back the checked value', () => {
    expect(parse(z.strictObject({ a: z.string().trim() }), { a: ' x ' }, 'body')).toEqual({ a: 'x' });
  });

  it('S84: names the fields that it does not know', () => {
    const { errors } = refusalOf(z.strictObject({ a: z.strictObject({}) }), { a: { Subject: 1, ttl: 2 }, 'x\n': 3 });
    expect(errors).toEqual([
      { path: 'body.a', message: 'unknown fields: "Subject", "ttl"' },
      { path: 'body', message: 'unknown fields: "x\\n"' },
    ]);
  });

  it('names each fault by its path and never by its value', () => {
    const refusal = refusalOf(issueElicitationSchema, {
      kind: 'authorization',
      member: 'SECRET',
      subject: { issuer: 'SECRET\n', subject: 5 },
      ttlSeconds: 1,
      returnUrl: 'SECRET',
      authorization: { provider: 'SECRET', scopes: ['ok', 'SECRET scope'], name: 'SECRET' },
    });
    expect(refusal.code).toBe('invalid_request');
    expect(JSON.stringify(refusal.errors)).not.toContain('SECRET');
    expect(refusal.errors?.map(({ path }) => path)).toEqual(
      expect.arrayContaining(['body', 'body.ttlSeconds', 'body.authorization.scopes.1']),
    );
  });

  it('bounds what it answers', () => {
    const items = z.array(z.strictObject({ a: z.number() }));
    const refusal = refusalOf(
      items,
      Array.from({ length: 1000 }, () => ({ a: 'x', ['n'.repeat(5000)]: 1 })),
    );
    expect(refusal.errors?.length).toBe(20);
    expect(JSON.stringify(refusal.errors).length).toBeLessThan(10_000);
  });
});
