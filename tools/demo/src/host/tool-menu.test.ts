import { describe, expect, test } from 'vitest';
import { askArguments, menuOf } from './tool-menu.ts';

const tool = (inputSchema: object, more: object = {}) => ({
  name: 'buy',
  inputSchema: { type: 'object' as const, ...inputSchema },
  ...more,
});

async function answered(inputSchema: object, ...answers: string[]) {
  const [entry] = menuOf([tool(inputSchema)]);
  return entry && (await askArguments(entry, async () => answers.shift()));
}

describe('the menu of the terminal host', () => {
  test('asks for the arguments of a tool, in their types', async () => {
    const properties = { book: { type: 'string' }, copies: { type: 'integer' }, gift: { type: 'boolean' } };
    expect(await answered({ properties }, 'a', '2', 'yes')).toEqual({ book: 'a', copies: 2, gift: true });
    expect(await answered({ properties }, '', '', '')).toEqual({});
    expect(await answered({ properties, required: ['book'] }, '')).toBeUndefined();
    expect(await answered({ properties }, 'a')).toBeUndefined();
    expect(await answered({})).toEqual({});
  });

  test('keeps a name that objects have by nature', async () => {
    const args = await answered(JSON.parse('{"properties":{"__proto__":{"type":"string"}}}'), 'a');
    expect(Object.entries(args ?? {})).toEqual([['__proto__', 'a']]);
  });

  test('leaves out a tool whose arguments cannot be typed', () => {
    expect(menuOf([tool({ properties: { lines: { type: 'array' } } }), tool({ properties: { any: true } })])).toEqual(
      [],
    );
  });

  test('shows texts of the MCP server as one plain line, and a limited number of tools', () => {
    const [entry] = menuOf([
      tool({ properties: { a: { type: 'string', description: 'x\n\u001b[2J' } } }, { title: 'Buy\r\n\u202e1  Sell' }),
    ]);
    expect(`${entry?.label}${entry?.questions[0]?.text}`).not.toMatch(/[\p{Cc}\u202e]/u);
    expect(menuOf(Array.from({ length: 500 }, () => tool({})))).toHaveLength(50);
  });
});
