/**
 * Text from outside (answers, requests, tokens) is matched by regular expressions in many places. None of them may take
 * more than linear time, even for bounded text, because a later change may remove the bound.
 */
import { describe, expect, it } from 'vitest';
import { isSuperLinear, regularExpressionsIn } from './regular-expressions.ts';
import { workspacePackages } from './source-tree.ts';

const product = workspacePackages()
  .filter(({ folder }) => /^packages\/(?!testkit$)|^services\//.test(folder))
  .flatMap(({ files }) => files)
  .filter(({ path }) => path.includes('/src/') && !path.endsWith('.test.ts'));

describe('regular expressions', () => {
  it('are linear in every source file of the product', () => {
    const all = product.flatMap(({ path, text }) => regularExpressionsIn(text).map(each => [path, each] as const));
    expect(all.length).toBeGreaterThan(200);
    expect(all.filter(([, each]) => isSuperLinear(each)).map(([path, each]) => `${path}: ${each}`)).toEqual([]);
  });

  it('are built at run time only in the listed places, from constants', () => {
    expect(product.filter(({ text }) => /\bnew RegExp\(/.test(text)).map(({ path }) => path)).toEqual([
      'packages/api/src/plain-text.ts',
      'packages/api/src/secret-fields.ts',
      'packages/store-redis/src/keyspace.ts',
      'services/gateway/src/api-routes.ts',
      // From a number.
      'services/gateway/src/cli/mcp-servers-add.ts',
    ]);
  });
});

describe('isSuperLinear()', () => {
  it.each([/\/+$/, /([\w-]+)\s*=/g, /(a|a)*b/, /^\s*\n\s*$/, /<[^>]*>/g])('refuses %s', expression => {
    expect(isSuperLinear(expression)).toBe(true);
  });

  it.each([/(?<!\/)\/+$/, /(?<![\w-])([\w-]+)\s*=/g, /^a*b/, /"(?:[^"\\]|\\.)*"/y])('accepts %s', expression => {
    expect(isSuperLinear(expression)).toBe(false);
  });
});
