import type { Elicitation } from '@postern/elicitation';
import { describe, expect, it } from 'vitest';
import { formLimitsOf, OWN_CONTROLS } from './form-limits.ts';

const limitsOf = (request: object) => formLimitsOf({ request } as Elicitation);
const formOf = (properties: object) =>
  limitsOf({ kind: 'form', requestedSchema: { type: 'object', properties }, secretFields: [] });
/** The form with the longest values that its controls take, in the characters that need the most bytes. */
const longest = (typed: readonly (readonly [string, string])[]) =>
  new URLSearchParams([
    ['csrf_token', 'x'.repeat(43)],
    ['shown', 'x'.repeat(43)],
    ...typed.map(([name, value]): [string, string] => [`field.${name}`, value]),
  ]).toString();

describe('S75: the limits of a form', () => {
  it.each(['authorization', 'payment', 'confirmation'])('are those of our own controls for %s', kind => {
    expect(limitsOf({ kind })).toEqual(OWN_CONTROLS);
    expect(longest([]).length).toBeLessThanOrEqual(OWN_CONTROLS.bytes);
  });

  it('let every answer to a credential pass', () => {
    const fields = Array.from({ length: 8 }, (_, n) => ({ name: `field_${n}`, maxLength: 4096 }));
    const { controls, bytes } = limitsOf({ kind: 'credential', fields });
    expect(controls).toBe(OWN_CONTROLS.controls + 8);
    const sent = longest(fields.map(({ name }) => [name, '中'.repeat(4096)]));
    expect(sent.length).toBeLessThanOrEqual(bytes);
    expect(limitsOf({ kind: 'credential', fields: [{ name: 'key', maxLength: 40 }] }).bytes).toBeLessThan(17 * 1024);
  });

  it('let every answer to a form pass', () => {
    const { controls, bytes } = formOf({
      text: { type: 'string', maxLength: 100_000 },
      moment: { type: 'string', format: 'date-time' },
      number: { type: 'number' },
      yes: { type: 'boolean' },
      one: { type: 'string', enum: ['中'.repeat(200), 'b'] },
      many: { type: 'array', items: { type: 'string', enum: ['x', '中'.repeat(200)] } },
    });
    const sent = longest([
      ['text', '🔑'.repeat(4096)],
      ['moment', '2026-11-23T00:00:00'],
      ['moment', '+01:00'],
      ['number', '1'.repeat(100)],
      ['yes', 'true'],
      ['one', '中'.repeat(200)],
      ['many', 'x'],
      ['many', '中'.repeat(200)],
    ]);
    // The form of the test has no passkey ceremony.
    expect(controls).toBe([...new URLSearchParams(sent)].length + 2);
    expect(sent.length).toBeLessThanOrEqual(bytes);
  });
});
