import { type IssueElicitationInput, issueElicitationSchema } from '@postern/api';
import { describe, expect, it } from 'vitest';
import { assertHonestNames, createRegisteredNames } from './confusable-names.ts';

const names = createRegisteredNames([
  { path: 'branding.name', text: 'Postern' },
  { path: 'providers[0].displayName', text: 'GitHub' },
  { path: 'providers[1].displayName', text: 'Code Forge' },
  { path: 'providers[2].displayName', text: 'PayPal' },
  { path: 'providers[3].displayName', text: 'O’Reilly' },
  { path: 'providers[4].displayName', text: 'Shop.example' },
  { path: 'mcpServers[0].name', text: 'Issue Tracker', mcpServerId: 'tracker' },
  { path: 'mcpServers[1].name', text: 'Tom', mcpServerId: 'tom' },
  { path: 'mcpServers[1].payment.payees[0]', text: 'Acme GmbH', mcpServerId: 'tom' },
]);

describe('S74: the check of confusable names', () => {
  it.each([
    ['one Cyrillic letter', 'GіtHub'],
    ['Cyrillic only', 'РауРаӏ'],
    ['Cyrillic capitals', 'ТОМ'],
    ['full width', 'ＧｉｔＨｕｂ'],
    ['mathematical letters', '𝗚𝗶𝘁𝗛𝘂𝗯'],
    ['small capitals', 'ɢɪᴛʜᴜʙ'],
    ['Cherokee', 'ᏢᎪУᏢᎪL'],
    ['ASCII letters', 'PayPaI'],
    ['two letters for one', 'lssue Tracker'],
    ['two words', 'Cоde Forge'],
    ['a Greek letter in the name of the gateway', 'Pοstern'],
    ['a payee', 'Acmе GmbH'],
    ['a name within a title', 'API key of GіtHub'],
    ['a name before punctuation', 'GіtHub, for you'],
    ['a name before a symbol', 'GіtHub⋅'],
    ['a name within signs', 'Log in: GіtHub/Code'],
    ['a hair space in a word', 'Git\u200aHub'],
    ['a hair space in a word after others', 'Sign in at Git\u200aHub now'],
  ])('refuses %s: %s', (_, text) => {
    expect(names.isMisleadingName(text, 'other')).toBe(true);
  });

  it.each([
    'GitHub',
    'github',
    'GITHUB',
    "O'Reilly",
    'O’Reilly',
    'Code  Forge',
    'Tomorrow',
    'Acme GmbH',
    'GitHub Enterprise',
    'Том и Джерри',
  ])('accepts the registered name and different names: %s', text => {
    expect(names.isMisleadingName(text, 'other')).toBe(false);
    expect(names.isMisleadingProse(text, 'other')).toBe(false);
  });

  it('refuses every space of Unicode within a word, except the plain one', () => {
    const spaces = Array.from({ length: 0x1_0000 }, (_, point) => String.fromCharCode(point)).filter(
      character => /\p{Zs}/u.test(character) && character !== ' ',
    );
    expect(spaces).toEqual(expect.arrayContaining(['\u2000', '\u2009', '\u200a', '\u202f', '\u3000', '\u1680']));
    for (const space of spaces) {
      expect(names.isMisleadingName(`Git${space}Hub`, 'other'), `${space.codePointAt(0)}`).toBe(true);
      expect(names.isMisleadingProse(`Git${space}Hub`, 'other'), `${space.codePointAt(0)}`).toBe(true);
      expect(names.isMisleadingName(`Code${space}Forge`, 'other'), `${space.codePointAt(0)}`).toBe(false);
    }
  });

  it('refuses every dot of Unicode in place of a full stop', () => {
    const dots = [
      ...'\u2024·\u0387\u2219\u22c5\u30fb\uff65\u2022\u2027\u2e31\u2e33\u16eb\u1427\u{10101}\u0701\u0702\ua4f8．',
    ];
    for (const dot of dots)
      expect(names.isMisleadingName(`Shop${dot}example`, 'other'), `${dot.codePointAt(0)}`).toBe(true);
    for (const text of ['Shop.example', 'shop.example.', 'Shop example', 'Shop·Laden'])
      expect(names.isMisleadingName(text, 'other')).toBe(false);
  });

  it('accepts any spelling of an MCP server’s own names', () => {
    expect(names.isMisleadingName('Acmе GmbH', 'tom')).toBe(false);
    expect(names.isMisleadingName('GіtHub', 'tom')).toBe(true);
  });

  it('accepts ASCII words in prose, and refuses confusable letters of other alphabets', () => {
    expect(names.isMisleadingProse('Sign in at PayPaI', 'other')).toBe(false);
    expect(names.isMisleadingProse('Sign in at РауРаӏ', 'other')).toBe(true);
    expect(names.isMisleadingProse('Откройте третий том', 'other')).toBe(false);
  });

  it('returns the same result for a repeated name, per MCP server', () => {
    for (let at = 0; at < 2_100; at += 1) names.isMisleadingName(`tool ${at}`, 'other');
    expect([names.isMisleadingName('Acmе GmbH', 'other'), names.isMisleadingName('Acmе GmbH', 'tom')]).toEqual([
      true,
      false,
    ]);
    expect([names.isMisleadingName('Acmе GmbH', 'other'), names.isMisleadingName('Acmе GmbH', 'tom')]).toEqual([
      true,
      false,
    ]);
  });

  it('finds the registered name that another one resembles', () => {
    const confusing = { path: 'mcpServers[2].name', text: 'Pοstern', mcpServerId: 'other' };
    expect(names.imitatedBy(confusing)?.path).toBe('branding.name');
    expect(names.imitatedBy({ ...confusing, text: 'Postern' })).toBeUndefined();
  });
});

const subject = { issuer: 'https://id.example', subject: 'alice' };
const LIE = 'GіtHub';

const confirmation = { kind: 'confirmation', subject, confirmation: { title: 'Yes' } } as const;
const credential = { name: 'key', title: 'Key', fields: [{ name: 'key', label: 'Key' }] };
const form = (property: object) => ({
  kind: 'form',
  subject,
  form: { requestedSchema: { type: 'object', properties: { a: { type: 'string', ...property } } } },
});
const payment = { payee: { name: 'Shop' }, amount: { currency: 'EUR', minorUnits: 1 }, reference: '1' };

async function pathOf(ask: object): Promise<unknown> {
  const request = issueElicitationSchema.parse(ask as IssueElicitationInput);
  try {
    await assertHonestNames(names, 'tracker', request);
    return undefined;
  } catch (error) {
    expect(error).toMatchObject({ code: 'confusable_name' });
    return (error as { errors: { path: string }[] }).errors[0]?.path;
  }
}

describe('S74: a request that imitates a provider', () => {
  it.each([
    ['body.message', { ...confirmation, message: `From ${LIE}` }],
    ['body.requestedBy.mcpClient', { ...confirmation, requestedBy: { mcpClient: 'ɢɪᴛʜᴜʙ' } }],
    ['body.requestedBy.tool', { ...confirmation, requestedBy: { tool: LIE } }],
    ['body.confirmation.title', { ...confirmation, confirmation: { title: LIE } }],
    ['body.confirmation.action', { ...confirmation, confirmation: { title: 'x', action: 'Pay with PayPaI' } }],
    [
      'body.confirmation.facts.0.label',
      { ...confirmation, confirmation: { title: 'x', facts: [{ type: 'text', label: LIE, value: 'x' }] } },
    ],
    [
      'body.confirmation.facts.0.value',
      { ...confirmation, confirmation: { title: 'x', facts: [{ type: 'text', label: 'x', value: LIE }] } },
    ],
    ['body.payment.payee.name', { kind: 'payment', subject, payment: { ...payment, payee: { name: 'ＧｉｔＨｕｂ' } } }],
    ['body.payment.reference', { kind: 'payment', subject, payment: { ...payment, reference: LIE } }],
    [
      'body.payment.items.0.label',
      { kind: 'payment', subject, payment: { ...payment, items: [{ label: LIE, unitMinorUnits: 1 }] } },
    ],
    ['body.credential.title', { kind: 'credential', subject, credential: { ...credential, title: `Key of ${LIE}` } }],
    [
      'body.credential.fields.0.label',
      { kind: 'credential', subject, credential: { ...credential, fields: [{ name: 'k', label: LIE }] } },
    ],
    [
      'body.credential.fields.0.help',
      { kind: 'credential', subject, credential: { ...credential, fields: [{ name: 'k', label: 'k', help: LIE }] } },
    ],
    ['body.form.requestedSchema.properties.a.title', form({ title: LIE })],
    ['body.form.requestedSchema.properties.a.description', form({ description: LIE })],
    ['body.form.requestedSchema.properties.a.enum.0', form({ enum: [LIE] })],
    ['body.form.requestedSchema.properties.a.enumNames.0', form({ enum: ['a'], enumNames: [LIE] })],
    ['body.form.requestedSchema.properties.a.oneOf.0.title', form({ oneOf: [{ const: 'a', title: LIE }] })],
    ['body.form.requestedSchema.properties.a.default', form({ default: LIE })],
    [undefined, { ...confirmation, message: 'From GitHub' }],
  ])('a request that imitates a provider is refused at %s', async (path, ask) => {
    expect(await pathOf(ask)).toBe(path);
  });

  it('S66: a request that imitates a provider is examined in several turns of the event loop if its texts are long', async () => {
    const long = 'слово '.repeat(390);
    const properties = Object.fromEntries(
      Array.from({ length: 7 }, (_, at) => [`a${at}`, { type: 'string', default: long }]),
    );
    let turns = 0;
    let open = true;
    const count = (): void => {
      turns += 1;
      if (open) setImmediate(count);
    };
    setImmediate(count);
    await pathOf({ kind: 'form', subject, form: { requestedSchema: { type: 'object', properties } } });
    open = false;
    expect(turns).toBeGreaterThanOrEqual(7);
  });
});
