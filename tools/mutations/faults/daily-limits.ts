import type { Fault } from '../fault.ts';

export const dailyLimitsFaults: readonly Fault[] = [
  {
    name: 'an approval above the daily limit is committed',
    breaks: 'S89',
    file: 'packages/store-redis/src/commands/transition-elicitation.lua',
    original: 'if spent + counting > tonumber(args.daily_limit) then',
    replacement: 'if false then',
    foundBy: ['packages/store-redis/src/redis-stores.test.ts'],
    only: 'S89',
  },
  {
    name: 'an approval is not counted',
    breaks: 'S89',
    file: 'packages/store-redis/src/commands/transition-elicitation.lua',
    original:
      "  redis.call('HSET', keys.counted_payments, args.elicitation_id, whole(now) .. ' ' .. args.counted_units)\n",
    replacement: '',
    foundBy: ['packages/store-redis/src/redis-stores.test.ts'],
    only: 'S89',
  },
  {
    name: 'a payment that was not made counts against the daily limit',
    breaks: 'S89',
    file: 'packages/store-redis/src/commands/transition-elicitation.lua',
    original: "  redis.call('HDEL', keys.counted_payments, args.elicitation_id)\n",
    replacement: '',
    foundBy: ['packages/store-redis/src/redis-stores.test.ts'],
    only: 'S89',
  },
  {
    name: 'an approval comes without the daily limit of its person',
    breaks: 'S89',
    file: 'services/gateway/src/payments/approvals.ts',
    original: '        countWithin,\n',
    replacement: '',
    foundBy: ['services/gateway/src/payments/approvals.test.ts'],
  },
  {
    name: 'the button approves beyond the daily threshold',
    breaks: 'S89',
    file: 'services/gateway/src/payments/approvals.ts',
    original: 'hasPasskey ? passkeyAbove + upTo : passkeyAbove',
    replacement: 'passkeyAbove + upTo',
    foundBy: ['services/gateway/src/payments/approvals.test.ts'],
  },
  {
    name: 'a first passkey approves many payments that exceed its limit together',
    breaks: 'S89',
    file: 'services/gateway/src/payments/approvals.ts',
    original:
      'return passkeyAbove === undefined || totalOf(payment, await this.#countedBeside(payment)) <= passkeyAbove + upTo;',
    replacement: 'return true;',
    foundBy: ['services/gateway/src/payments/passkey-flow.test.ts'],
  },
  {
    name: 'concurrent approvals with a first passkey exceed its limit together',
    breaks: 'S89',
    file: 'services/gateway/src/payments/approvals.ts',
    original: ', upTo: passkey?.upTo',
    replacement: '',
    foundBy: ['services/gateway/src/payments/approvals.test.ts'],
  },
  {
    name: 'a confirmation that its MCP server calls harmless needs no fresh sign-in',
    breaks: 'S89',
    file: 'services/gateway/src/identity/sign-in-policy.ts',
    original: 'return [everyFreshSignInSeconds, ',
    replacement: 'return [',
    foundBy: ['services/gateway/src/identity/sign-in-policy.test.ts'],
  },
];
