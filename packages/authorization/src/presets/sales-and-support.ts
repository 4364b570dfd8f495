import { definePreset, standardScopes } from './preset.ts';

export const hubspot = definePreset({
  name: 'hubspot',
  displayName: 'HubSpot',
  mark: { letters: 'HS', colour: '#ff7a59' },
  documentation: 'https://developers.hubspot.com/docs/api-reference/latest/authentication/manage-oauth-tokens',
  pkce: 'documented',
  scopeDocumentation: 'https://developers.hubspot.com/docs/apps/developer-platform/build-apps/authentication/scopes',
  scopes: {
    oauth: 'see',
    'crm.objects.contacts.read': 'see',
    'crm.objects.contacts.write': 'delete',
    'crm.objects.companies.read': 'see',
    'crm.objects.companies.write': 'delete',
    'crm.objects.deals.read': 'see',
    'crm.objects.deals.write': 'delete',
    'crm.objects.owners.read': 'see',
    'crm.objects.line_items.read': 'see',
    'crm.objects.quotes.read': 'see',
    'crm.lists.read': 'see',
    'crm.lists.write': 'delete',
    'crm.schemas.contacts.read': 'see',
    tickets: 'delete',
    content: 'delete',
    files: 'delete',
    forms: 'delete',
    'sales-email-read': 'see',
  },
  provider: {
    apiHosts: ['api.hubapi.com'],
    authorizationEndpoint: 'https://app.hubspot.com/oauth/authorize',
    tokenEndpoint: 'https://api.hubapi.com/oauth/2026-03/token',
    userinfoEndpoint: 'https://api.hubapi.com/account-info/v3/details',
    clientAuthentication: 'client_secret_post',
    baseScopes: ['oauth'],
    tokenResponse: { members: { scope: 'scopes' } },
    account: { from: 'userinfo', idClaim: 'portalId' },
    revocation: { endpoint: 'https://api.hubapi.com/oauth/2026-03/token/revoke', token: 'refresh_token' },
  },
  notes: [
    'The account is the HubSpot account (portal), not the user. Every scope must also be listed in the app.',
    'Installations in one portal share tokens. Disconnecting one may end other connections to the same portal.',
    'Postern revokes the refresh token. According to HubSpot, its access tokens stay valid until they expire.',
    'The preset does not use the older v1 endpoints, which have tokens in the URL and end in February 2027.',
  ],
});

/** Workspaces belong to one of three regions, each with its own hosts. */
function intercomIn(region: '' | 'eu' | 'au') {
  const suffix = region === '' ? '' : `.${region}`;
  return definePreset({
    name: region === '' ? 'intercom' : `intercom-${region}`,
    displayName: 'Intercom',
    mark: { letters: 'Ic', colour: '#1f8ded' },
    documentation:
      'https://developers.intercom.com/docs/build-an-integration/learn-more/authentication/setting-up-oauth',
    pkce: 'undocumented',
    scopes: {},
    provider: {
      apiHosts: [`api${suffix}.intercom.io`],
      authorizationEndpoint: `https://app${suffix}.intercom.com/oauth`,
      tokenEndpoint: `https://api${suffix}.intercom.io/auth/eagle/token`,
      userinfoEndpoint: `https://api${suffix}.intercom.io/me`,
      clientAuthentication: 'client_secret_post',
      account: { from: 'userinfo', idClaim: 'id', nameClaim: 'email' },
    },
    notes: [
      'There are no scopes: permissions are set in the app. Tokens do not expire.',
      'A revocation would uninstall the app for the whole workspace, so the preset has none.',
    ],
  });
}

export const intercom = intercomIn('');
export const intercomEu = intercomIn('eu');
export const intercomAu = intercomIn('au');

export const salesforce = definePreset({
  name: 'salesforce',
  displayName: 'Salesforce',
  mark: { letters: 'Sf', colour: '#00a1e0' },
  documentation: 'https://help.salesforce.com/s/articleView?id=sf.remoteaccess_oauth_web_server_flow.htm&type=5',
  pkce: 'documented',
  placeholders: {
    host: {
      kind: 'host',
      within: ['salesforce.com'],
      help: 'login.salesforce.com, test.salesforce.com for sandboxes, or the My Domain host of your organisation',
      example: 'acme.my.salesforce.com',
      fallback: 'login.salesforce.com',
    },
  },
  scopeDocumentation: 'https://help.salesforce.com/s/articleView?id=xcloud.remoteaccess_oauth_tokens_scopes.htm&type=5',
  scopes: {
    ...standardScopes('openid', 'profile', 'email', 'offline_access'),
    api: 'delete',
    refresh_token: 'see',
    full: 'delete',
    web: 'delete',
    chatter_api: 'delete',
    id: 'see',
  },
  provider: {
    authorizationEndpoint: 'https://{host}/services/oauth2/authorize',
    tokenEndpoint: 'https://{host}/services/oauth2/token',
    userinfoEndpoint: 'https://{host}/services/oauth2/userinfo',
    clientAuthentication: 'client_secret_post',
    baseScopes: ['openid', 'refresh_token'],
    defaultScopes: ['api'],
    scopeImplies: { refresh_token: ['offline_access'], offline_access: ['refresh_token'] },
    unreportedScopes: ['refresh_token'],
    tokenResponse: { lifetimeSeconds: 3600 },
    account: { from: 'userinfo', idClaim: 'user_id', nameClaim: 'preferred_username' },
    revocation: { endpoint: 'https://{host}/services/oauth2/revoke', unknownTokenErrors: ['invalid_token'] },
  },
  notes: [
    'Responses do not contain the lifetime of access tokens, which the session policy of the organisation sets. The preset assumes one hour.',
    'Tools do not receive instance_url of the token response. They find the API host in the urls of the userinfo response.',
  ],
});

/** Offline access to one shop. */
export const shopify = definePreset({
  name: 'shopify',
  displayName: 'Shopify',
  mark: { letters: 'Sh', colour: '#95bf47' },
  documentation: 'https://shopify.dev/docs/apps/build/authentication-authorization/authenticate-standalone-apps',
  pkce: 'undocumented',
  placeholders: {
    shop: { kind: 'slug', help: 'The part before .myshopify.com', example: 'acme' },
  },
  scopeDocumentation: 'https://shopify.dev/docs/api/usage/access-scopes',
  scopes: {
    read_products: 'see',
    write_products: 'delete',
    read_orders: 'see',
    read_all_orders: 'see',
    write_orders: 'delete',
    read_customers: 'see',
    write_customers: 'delete',
    read_inventory: 'see',
    write_inventory: 'delete',
    read_fulfillments: 'see',
    write_fulfillments: 'delete',
    read_draft_orders: 'see',
    write_draft_orders: 'delete',
    read_discounts: 'see',
    write_discounts: 'delete',
    read_content: 'see',
    write_content: 'delete',
    read_themes: 'see',
    write_themes: 'delete',
    read_analytics: 'see',
  },
  provider: {
    apiHosts: ['{shop}.myshopify.com'],
    authorizationEndpoint: 'https://{shop}.myshopify.com/admin/oauth/authorize',
    tokenEndpoint: 'https://{shop}.myshopify.com/admin/oauth/access_token',
    clientAuthentication: 'client_secret_post',
    defaultScopes: ['read_products'],
    requestScopeSeparator: ',',
    // Tokens that expire and can be refreshed; public apps must use them from January 2027.
    tokenParameters: { expiring: '1' },
    // Responses omit a read scope if the write scope is granted.
    scopeImplies: {
      write_products: ['read_products'],
      read_all_orders: ['read_orders'],
      write_orders: ['read_orders'],
      write_customers: ['read_customers'],
      write_inventory: ['read_inventory'],
      write_fulfillments: ['read_fulfillments'],
      write_draft_orders: ['read_draft_orders'],
      write_discounts: ['read_discounts'],
      write_content: ['read_content'],
      write_themes: ['read_themes'],
    },
  },
  notes: [
    'Each shop needs its own configured provider. The token belongs to the shop, not to a user, so there is no account.',
    'Tools send the token as X-Shopify-Access-Token, not as Authorization.',
    'Postern checks state and the browser session, but not the hmac of the callback. There is no revocation: the merchant uninstalls the app.',
  ],
});

/** Connect with OAuth: access to another Stripe account. */
export const stripe = definePreset({
  name: 'stripe',
  displayName: 'Stripe',
  mark: { letters: 'St', colour: '#635bff' },
  documentation: 'https://docs.stripe.com/connect/oauth-reference',
  pkce: 'undocumented',
  scopeDocumentation: 'https://docs.stripe.com/connect/oauth-reference',
  scopes: {
    read_only: 'see',
    read_write: 'delete',
  },
  provider: {
    apiHosts: ['api.stripe.com', 'files.stripe.com'],
    authorizationEndpoint: 'https://connect.stripe.com/oauth/authorize',
    tokenEndpoint: 'https://connect.stripe.com/oauth/token',
    clientAuthentication: 'client_secret_post',
    defaultScopes: ['read_only'],
    scopeImplies: { read_write: ['read_only'] },
    account: { from: 'token_response', idClaim: 'stripe_user_id' },
  },
  notes: [
    'The client secret is the secret API key of your platform. Restrict access to it accordingly.',
    'Access tokens do not expire. A revocation at Stripe needs the account id, which cannot be configured, so the preset has none.',
    'read_only is available only to platforms that Stripe has approved for it.',
  ],
});

export const zendesk = definePreset({
  name: 'zendesk',
  displayName: 'Zendesk',
  mark: { letters: 'Zd', colour: '#03363d' },
  documentation: 'https://developer.zendesk.com/api-reference/ticketing/oauth/grant_type_tokens/',
  pkce: 'documented',
  placeholders: {
    subdomain: { kind: 'slug', help: 'The part before .zendesk.com', example: 'acme' },
  },
  scopeDocumentation: 'https://developer.zendesk.com/api-reference/ticketing/oauth/oauth_tokens/',
  scopes: {
    read: 'see',
    write: 'delete',
    'tickets:read': 'see',
    'tickets:write': 'delete',
    'users:read': 'see',
    'users:write': 'delete',
    'organizations:read': 'see',
    'organizations:write': 'delete',
    'hc:read': 'see',
    'hc:write': 'delete',
    'macros:read': 'see',
    'macros:write': 'delete',
    'triggers:read': 'see',
    'triggers:write': 'delete',
    impersonate: 'change',
  },
  provider: {
    apiHosts: ['{subdomain}.zendesk.com'],
    authorizationEndpoint: 'https://{subdomain}.zendesk.com/oauth/authorizations/new',
    tokenEndpoint: 'https://{subdomain}.zendesk.com/oauth/tokens',
    userinfoEndpoint: 'https://{subdomain}.zendesk.com/api/v2/users/me.json',
    clientAuthentication: 'client_secret_post',
    baseScopes: ['users:read'],
    defaultScopes: ['tickets:read'],
    // Without this parameter a token lasts until it is revoked.
    tokenParameters: { expires_in: '3600' },
    scopeImplies: {
      read: ['tickets:read', 'users:read', 'organizations:read', 'hc:read', 'macros:read', 'triggers:read'],
      write: ['tickets:write', 'users:write', 'organizations:write', 'hc:write', 'macros:write', 'triggers:write'],
    },
    account: { from: 'userinfo', idClaim: 'user.id', nameClaim: 'user.email' },
    revocation: {
      endpoint: 'https://{subdomain}.zendesk.com/api/v2/oauth/tokens/current.json',
      style: 'custom',
      method: 'DELETE',
      body: 'none',
      token: 'access_token',
      authentication: 'bearer',
    },
  },
  notes: [
    'Each Zendesk instance needs its own configured provider. Zendesk must approve a client for many instances (global OAuth client).',
    'We could not verify whether deleting the access token also revokes its refresh token.',
  ],
});
