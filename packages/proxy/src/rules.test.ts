import { readJsonText } from '@postern/api/json';
import { describe, expect, test } from 'vitest';
import { createRules, upstreamSchema } from './config.ts';
import { filledIn } from './person.ts';
import type { Hints } from './rules.ts';
import { UsageError } from './short-form.ts';

const decide = async (config: object, name: string, hints: Hints = {}, args?: unknown) => {
  const { action, by } = (await createRules(upstreamSchema.parse({ command: ['x'], ...config }))).decide(
    { name, hints },
    args,
  );
  return `${action} ${by}`;
};

test('a title has the digits of a number that are sent', () => {
  const args = readJsonText('{"account":12345678901234567890}');
  expect(filledIn('Pay to {account}', args)).toBe('Pay to 12345678901234567890');
});

describe('rules', () => {
  test.each([
    ['list_files', 'pass 1'],
    ['LIST_FILES', 'pass 1'],
    ['ｌist_files', 'pass 1'],
    [' list_files', 'pass 1'],
    ['list', 'confirm default'],
    ['delete_all_now', 'deny 2'],
    ['delete_all', 'confirm default'],
    ['drop', 'hide 3'],
    ['dropped', 'confirm default'],
  ])('by name: %s → %s', async (name, decision) => {
    const rules = [
      { tools: 'list_*', pass: true },
      { tools: ['x', 'd*_all_*'], deny: true },
      { tools: 'drop', hide: true },
    ];
    expect(await decide({ rules }, name)).toBe(decision);
  });

  test.each([
    ['*', 'anything', true],
    ['a*b*c', 'aXbYc', true],
    ['a*b*c', 'acb', false],
    ['ab*ab', 'ab', false],
    ['ab*ab', 'abab', true],
    ['*a*a', 'a', false],
    ['a.c', 'abc', false],
  ])('pattern %s and tool %s: %s', async (tools, name, isMatch) => {
    expect(await decide({ rules: [{ tools, pass: true }] }, name)).toBe(isMatch ? 'pass 1' : 'confirm default');
  });

  test.each<[Hints, string]>([
    [{ readOnlyHint: true }, 'pass 1'],
    [{ readOnlyHint: false, destructiveHint: false }, 'confirm 2'],
    // Absent hints count as destructive.
    [{}, 'deny default'],
    [{ destructiveHint: true }, 'deny default'],
  ])('by hints %j: %s', async (hints, decision) => {
    const rules = [
      { annotations: { readOnlyHint: true }, pass: true },
      { annotations: { destructiveHint: false }, confirm: true },
    ];
    expect(await decide({ rules, default: 'deny', trustAnnotations: true }, 'tool', hints)).toBe(decision);
  });

  test.each([[['/etc/passwd']], ['{"path":"/etc/passwd"}'], [7]])(
    'arguments that are no object meet no rule: %j',
    async args => {
      const when = { properties: { path: { type: 'string', pattern: '^/safe/' } }, required: ['path'] };
      const config = { rules: [{ tools: 'write', when, pass: true }], default: 'deny' };
      expect(await decide(config, 'write', {}, args)).toBe('deny default');
    },
  );

  test('hints decide without a rule only if they are trusted', async () => {
    expect(await decide({}, 'tool', { readOnlyHint: true })).toBe('confirm default');
    expect(await decide({ trustAnnotations: true }, 'tool', { readOnlyHint: true })).toBe('pass annotations');
    expect(await decide({ trustAnnotations: true }, 'tool', { destructiveHint: false })).toBe('confirm default');
    expect(
      await decide({ trustAnnotations: true, rules: [{ tools: 'tool', deny: true }] }, 'tool', { readOnlyHint: true }),
    ).toBe('deny 1');
  });

  test('by arguments, and not without them', async () => {
    const when = { properties: { amount: { type: 'number', maximum: 10 } }, required: ['amount'] };
    const rules = [{ when, pass: true }];
    expect(await decide({ rules }, 'pay', {}, { amount: 10 })).toBe('pass 1');
    expect(await decide({ rules }, 'pay', {}, { amount: 11 })).toBe('confirm default');
    expect(await decide({ rules }, 'pay', {}, {})).toBe('confirm default');
    expect(await decide({ rules }, 'pay')).toBe('confirm default');
  });

  test.each([
    ['no action', { tools: 'a' }],
    ['two actions', { pass: true, deny: true }],
    ['an action that is off', { pass: false }],
    ['a hidden tool by its arguments', { hide: true, when: {} }],
    ['an unknown member', { pass: true, tool: 'a' }],
    ['annotations without trustAnnotations', { pass: true, annotations: { readOnlyHint: true } }],
    ['a title that is too long', { confirm: { title: 'x'.repeat(121) } }],
  ])('a rule with %s is refused', async (_what, rule) => {
    expect(upstreamSchema.safeParse({ command: ['x'], rules: [rule] }).success).toBe(false);
  });

  test('a `when` that is no JSON Schema is refused at the start', async () => {
    const rules = upstreamSchema.parse({ command: ['x'], rules: [{ pass: true, when: { type: 'nothing' } }] });
    await expect(createRules(rules)).rejects.toThrow(UsageError);
  });
});

test('a title takes values of the arguments, and leaves names that have none', async () => {
  const args = readJsonText('{ "path": "/a/b", "count": 3, "list": [1] }');
  expect(filledIn('Delete {path} {count} {list} {other} {constructor}', args)).toBe(
    'Delete /a/b 3 {list} {other} {constructor}',
  );
  expect(filledIn({ en: 'Delete {path}', de: '{path} löschen' }, args)).toEqual({
    en: 'Delete /a/b',
    de: '/a/b löschen',
  });
});
