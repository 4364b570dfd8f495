import { describe, expect, test } from 'vitest';
import { type CiAnswer, type CiConfiguration, createCiHandler } from './ci-handler.ts';
import type { ElicitationContext, ElicitationRequest } from './elicitation.ts';
import { context, formOf, url } from './testing/example-requests.ts';

async function ask(configuration: CiConfiguration, request: ElicitationRequest, from: ElicitationContext = context) {
  const lines: string[] = [];
  const records: CiAnswer[] = [];
  const log = (line: string, answer: CiAnswer) => {
    lines.push(line);
    records.push(answer);
  };
  const answer = await createCiHandler({ configuration, log })(request, from);
  expect(lines).toHaveLength(1);
  return { answer, line: lines[0] ?? '', record: records[0] };
}

const form = formOf(
  { title: { type: 'string' }, priority: { type: 'integer', default: 2 }, notify: { type: 'boolean' } },
  ['title', 'priority'],
);

describe('createCiHandler', () => {
  test('answers with configured values, and with defaults if allowed', async () => {
    const rule = { mcpServer: 'issues', fields: { title: 'Nightly build', other: 'not asked' } };
    const { answer, line } = await ask({ rules: [{ ...rule, useDefaults: true }] }, form);
    expect(answer).toEqual({ action: 'accept', content: { title: 'Nightly build', priority: 2 } });
    expect(line).toBe(
      'elicitation mcpServer=issues tool=create_issue mode=form action=accept configured=title defaults=priority',
    );
    expect((await ask({ rules: [rule] }, form)).record).toMatchObject({
      action: 'decline',
      reason: 'missing',
      fields: ['priority'],
    });
  });

  test('prefers the more specific rule', async () => {
    const rules: CiConfiguration['rules'] = [
      { fields: { title: 'any', priority: 0 } },
      { tool: 'create_issue', fields: { title: 'tool' } },
      { mcpServer: 'issues', fields: { title: 'server' } },
      { mcpServer: 'issues', tool: 'create_issue', fields: { title: 'both' } },
    ];
    const titleWith = async (chosen: typeof rules, from = context) => (await ask({ rules: chosen }, form, from)).answer;
    const content = (title: string) => ({ action: 'accept', content: { title, priority: 0 } });
    expect(await titleWith(rules)).toEqual(content('both'));
    expect(await titleWith(rules.slice(0, 3))).toEqual(content('server'));
    expect(await titleWith(rules.slice(0, 2))).toEqual(content('tool'));
    const { toolName: _, ...unknownTool } = context;
    expect(await titleWith(rules.slice(0, 2), unknownTool)).toEqual(content('any'));
  });

  test('declines a form with a missing value, or cancels it if configured', async () => {
    const rules = [{ fields: { priority: 1 } }];
    expect((await ask({ rules }, form)).answer).toEqual({ action: 'decline', by: 'policy' });
    expect((await ask({ rules, whenMissing: 'cancel' }, form)).answer).toEqual({ action: 'cancel', by: 'policy' });
  });

  test.each([
    ['a URL', url, {}, 'url_mode'],
    ['a form without a rule', formOf({}), {}, 'no_rule'],
    ['a rule for another MCP server', formOf({}), { rules: [{ mcpServer: 'other' }] }, 'no_rule'],
    ['a value that violates the schema', form, { rules: [{ fields: { title: 'x', priority: 'high' } }] }, 'unfit'],
    [
      'a field that looks like a secret',
      formOf({ apiKey: { type: 'string' } }),
      { rules: [{ fields: { apiKey: 'k' } }] },
      'looks_secret',
    ],
    [
      'a choice of guesses at a secret',
      formOf({ apiKey: { type: 'string', enum: ['k', 'l'] } }),
      { rules: [{ fields: { apiKey: 'k' } }] },
      'looks_secret',
    ],
    [
      'a number that looks like a secret',
      formOf({ pin: { type: 'integer' } }),
      { rules: [{ fields: { pin: 4711 } }] },
      'looks_secret',
    ],
    [
      'a number beside a message that asks for a secret',
      { ...formOf({ value: { type: 'number' } }), message: 'What is your PIN?' },
      { rules: [{ fields: { value: 4711 } }] },
      'looks_secret',
    ],
  ] as const)('declines %s', async (_name, request, configuration, reason) => {
    const { answer, record } = await ask(configuration as CiConfiguration, request);
    expect(answer).toEqual({ action: 'decline', by: 'policy' });
    expect(record?.reason).toBe(reason);
  });

  test('answers a field that looks like a secret if its name is allowed', async () => {
    const request = formOf({ tokenName: { type: 'string', title: 'Token' } });
    const rules = [{ fields: { tokenName: 'nightly' }, allowSecretLike: true }];
    expect((await ask({ rules }, request)).answer).toEqual({ action: 'accept', content: { tokenName: 'nightly' } });
  });

  test('takes a value that looks like a secret only from a rule that allows it', async () => {
    const request = formOf({ user: { type: 'string' }, apiKey: { type: 'string' } }, ['apiKey']);
    const rules: CiConfiguration['rules'] = [
      { mcpServer: context.mcpServer.id, allowSecretLike: true, fields: { user: 'ci' } },
      { fields: { apiKey: 'meant for another MCP server' } },
    ];
    const { answer, record } = await ask({ rules }, request);
    expect(answer).toEqual({ action: 'decline', by: 'policy' });
    expect(record).toMatchObject({ reason: 'missing', fields: ['apiKey'] });
  });

  test('logs one line without values, and escapes names from the MCP server', async () => {
    const request = formOf({ title: { type: 'string' } });
    const rules = [{ fields: { title: 'hunter2' } }];
    const { line, answer } = await ask({ rules }, request, { ...context, toolName: 'x\u001b[2J\n action=accept' });
    expect(answer.action).toBe('accept');
    expect(line).not.toContain('hunter2');
    expect(line).toContain('tool="x action=accept" mode=form');
    expect(line).toContain('configured=title');
    expect(line).not.toMatch(/\p{Cc}/u);
  });

  test('refuses an invalid configuration', () => {
    expect(() => createCiHandler({ configuration: { rules: [{ fiels: {} }] } as never })).toThrow(
      expect.objectContaining({ code: 'invalid_options' }),
    );
  });
});
