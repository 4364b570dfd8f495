import { describe, expect, it } from 'vitest';
import { createRegisteredNames } from './registered-names.ts';

const names = createRegisteredNames([
  { path: 'branding.name', text: 'Postern' },
  { path: 'providers[0].displayName', text: 'GitHub' },
  { path: 'providers[1].displayName', text: 'Code Forge' },
  { path: 'providers[2].displayName', text: 'PayPal' },
  { path: 'providers[3].displayName', text: 'O’Reilly' },
  { path: 'mcpServers[0].name', text: 'Issue Tracker', mcpServerId: 'tracker' },
  { path: 'mcpServers[1].name', text: 'Tom', mcpServerId: 'tom' },
  { path: 'mcpServers[1].payment.payees[0]', text: 'Acme GmbH', mcpServerId: 'tom' },
]);

describe('S74: names that look like the name of somebody else', () => {
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
    ['within a title', 'API key of GіtHub'],
    ['before punctuation', 'GіtHub, for you'],
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
  ])('accepts the name itself and what looks different: %s', text => {
    expect(names.isMisleadingName(text, 'other')).toBe(false);
    expect(names.isMisleadingProse(text, 'other')).toBe(false);
  });

  it('lets an MCP server write its own names in any way', () => {
    expect(names.isMisleadingName('Acmе GmbH', 'tom')).toBe(false);
    expect(names.isMisleadingName('GіtHub', 'tom')).toBe(true);
  });

  it('leaves ASCII words alone in sentences, and finds other letters there', () => {
    expect(names.isMisleadingProse('Sign in at PayPaI', 'other')).toBe(false);
    expect(names.isMisleadingProse('Sign in at РауРаӏ', 'other')).toBe(true);
    expect(names.isMisleadingProse('Откройте третий том', 'other')).toBe(false);
  });

  it('answers a name that was asked before in the same way, for each MCP server', () => {
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

  it('names the registered name that another one looks like', () => {
    const confusing = { path: 'mcpServers[2].name', text: 'Pοstern', mcpServerId: 'other' };
    expect(names.imitatedBy(confusing)?.path).toBe('branding.name');
    expect(names.imitatedBy({ ...confusing, text: 'Postern' })).toBeUndefined();
  });
});
