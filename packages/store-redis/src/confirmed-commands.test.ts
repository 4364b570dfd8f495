import { describe, expect, test } from 'vitest';
import { commandNames } from './commands.ts';
import { type ConfirmationRule, ConfirmationRules, confirmedCalls, confirmedCommands } from './confirmed-commands.ts';

const key = 'postern:{7f}:el:Vn3';

async function asks(rules: ConfirmationRules, rule: ConfirmationRule, answer: unknown): Promise<boolean> {
  let isAsked = false;
  await rules.apply(rule, key, answer, async () => {
    isAsked = true;
  });
  return isAsked;
}

test('every script has a confirmation rule', () => {
  expect(Object.keys(confirmedCommands).sort()).toEqual([...commandNames].sort());
});

describe('rules', () => {
  const rules = new ConfirmationRules();

  test.each([
    ['an end that is read', confirmedCalls.readElicitation, ['completed', '3'], true],
    ['an open elicitation', confirmedCalls.readElicitation, ['active', '2'], false],
    ['an elicitation that is not there', confirmedCalls.readElicitation, [null], true],
    ['a credential that is gone', confirmedCalls.readCredential, [null, null], true],
    ['a credential that is there', confirmedCalls.readCredential, ['1', '1'], false],
    ['an outbox with something in it', confirmedCalls.readOutbox, [['1-0', []]], true],
    ['an empty outbox', confirmedCalls.readOutbox, [], false],
    ['the end of a feed', confirmedCalls.readFeedEnd, '1-0', true],
    ['a feed that is not there', confirmedCalls.readFeedEnd, null, false],
    ['events of a feed', confirmedCommands.readFeed, ['events', ['1-0', []]], true],
    ['no events of a feed', confirmedCommands.readFeed, ['events'], false],
    ['any creation', confirmedCommands.createElicitation, ['open', 'el_'], true],
    ['a lease', confirmedCommands.takeLease, ['taken'], false],
    ['a one-time record that is taken', confirmedCommands.consumeOneTime, ['taken'], true],
    ['a new token set', confirmedCommands.finishRefresh, ['stored'], true],
    ['a redemption', confirmedCommands.redeemElicitation, ['redeemed'], true],
  ] as const)('%s', async (_, rule, answer, expected) => {
    expect(await asks(rules, rule, answer)).toBe(expected);
  });

  test('confirms each token set once, and a missing one every time', async () => {
    const rule = confirmedCalls.readConnection;
    const seen = [];
    for (const answer of [['1', '5'], ['1', '5'], ['2', '5'], ['2', '5'], [null], [null], ['1', '9']])
      seen.push(await asks(rules, rule, answer));
    expect(seen).toEqual([true, false, true, false, true, true, true]);
  });

  test('asks for confirmation again after a failed one', async () => {
    const rule = confirmedCalls.readConnection;
    const failing = rules.apply(rule, `${key}2`, ['1', '5'], () => Promise.reject(new Error('too few')));
    await expect(failing).rejects.toThrow('too few');
    let isAsked = false;
    await rules.apply(rule, `${key}2`, ['1', '5'], async () => {
      isAsked = true;
    });
    expect(isAsked).toBe(true);
  });
});
