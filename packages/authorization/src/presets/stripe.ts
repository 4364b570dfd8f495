import { definePreset, inWords } from './preset.ts';

/** Connect with OAuth: access to the Stripe account of somebody else. */
export const stripe = definePreset({
  name: 'stripe',
  displayName: 'Stripe',
  documentation: 'https://docs.stripe.com/connect/oauth-reference',
  pkce: 'undocumented',
  scopes: inWords({
    read_only: ['See payments and all other data of your Stripe account', '查看您 Stripe 账户的付款和所有其他数据'],
    read_write: [
      'See and change all data of your Stripe account, also move money',
      '查看和修改您 Stripe 账户的所有数据，包括转移资金',
    ],
  }),
  provider: {
    authorizationEndpoint: 'https://connect.stripe.com/oauth/authorize',
    tokenEndpoint: 'https://connect.stripe.com/oauth/token',
    clientAuthentication: 'client_secret_post',
    defaultScopes: ['read_only'],
    scopeImplies: { read_write: ['read_only'] },
    account: { from: 'token_response', idClaim: 'stripe_user_id' },
  },
  notes: [
    'The client secret is the secret API key of your platform: restrict who can read it accordingly.',
    'Access tokens do not expire. Ending the connection at Stripe needs the id of the account, which cannot be configured; revocation is left out.',
    'read_only is available to platforms that Stripe approved for it.',
  ],
});
