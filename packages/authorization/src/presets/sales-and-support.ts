import { definePreset, inWords, standardScopes } from './preset.ts';

export const hubspot = definePreset({
  name: 'hubspot',
  displayName: 'HubSpot',
  documentation: 'https://developers.hubspot.com/docs/api-reference/latest/authentication/manage-oauth-tokens',
  pkce: 'documented',
  scopes: inWords({
    oauth: ['Recognise your HubSpot account', '识别您的 HubSpot 账户'],
    'crm.objects.contacts.read': ['Read contacts', '读取联系人'],
    'crm.objects.contacts.write': ['Create, change and delete contacts', '创建、修改和删除联系人'],
    'crm.objects.companies.read': ['Read companies', '读取公司'],
    'crm.objects.companies.write': ['Create, change and delete companies', '创建、修改和删除公司'],
    'crm.objects.deals.read': ['Read deals', '读取交易'],
    'crm.objects.deals.write': ['Create, change and delete deals', '创建、修改和删除交易'],
    'crm.objects.owners.read': ['See who owns records', '查看记录的负责人'],
    'crm.objects.line_items.read': ['Read line items', '读取明细项目'],
    'crm.objects.quotes.read': ['Read quotes', '读取报价'],
    'crm.lists.read': ['Read lists', '读取列表'],
    'crm.lists.write': ['Create and change lists', '创建和修改列表'],
    'crm.schemas.contacts.read': ['See how contacts are set up', '查看联系人的字段设置'],
    tickets: ['Read and change tickets', '读取和修改工单'],
    content: ['Read and change your website content', '读取和修改您的网站内容'],
    files: ['Read and change your files', '读取和修改您的文件'],
    forms: ['Read and change forms', '读取和修改表单'],
    'sales-email-read': ['Read the text of sales emails', '读取销售邮件的内容'],
  }),
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
      tokenResponse: { tokenType: 'bearer' },
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
  scopes: {
    ...standardScopes('openid', 'profile', 'email', 'offline_access'),
    ...inWords({
      api: ['Read and change your Salesforce data', '读取和修改您的 Salesforce 数据'],
      refresh_token: ['Stay connected while you are away', '在您离开时保持连接'],
      full: ['Do everything that you can do in Salesforce', '执行您在 Salesforce 中可以进行的一切操作'],
      web: ['Open Salesforce pages as you', '以您的身份打开 Salesforce 页面'],
      chatter_api: ['Read and write in Chatter', '读取 Chatter 并在其中发布内容'],
      id: ['See your name and email address', '查看您的姓名和电子邮件地址'],
    }),
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
  documentation: 'https://shopify.dev/docs/apps/build/authentication-authorization/authenticate-standalone-apps',
  pkce: 'undocumented',
  placeholders: {
    shop: { kind: 'slug', help: 'The part before .myshopify.com', example: 'acme' },
  },
  scopes: inWords({
    read_products: ['See products', '查看商品'],
    write_products: ['Create, change and delete products', '创建、修改和删除商品'],
    read_orders: ['See orders of the last 60 days', '查看最近 60 天的订单'],
    read_all_orders: ['See all orders', '查看全部订单'],
    write_orders: ['Change orders', '修改订单'],
    read_customers: ['See customers', '查看客户'],
    write_customers: ['Create, change and delete customers', '创建、修改和删除客户'],
    read_inventory: ['See stock', '查看库存'],
    write_inventory: ['Change stock', '修改库存'],
    read_fulfillments: ['See deliveries', '查看发货'],
    write_fulfillments: ['Create and change deliveries', '创建和修改发货'],
    read_draft_orders: ['See draft orders', '查看草稿订单'],
    write_draft_orders: ['Create and change draft orders', '创建和修改草稿订单'],
    read_discounts: ['See discounts', '查看折扣'],
    write_discounts: ['Create and change discounts', '创建和修改折扣'],
    read_content: ['See pages and articles of the shop', '查看店铺的页面和文章'],
    write_content: ['Change pages and articles of the shop', '修改店铺的页面和文章'],
    read_themes: ['See the look of the shop', '查看店铺的外观'],
    write_themes: ['Change the look of the shop', '修改店铺的外观'],
    read_analytics: ['See statistics of the shop', '查看店铺的统计数据'],
  }),
  provider: {
    apiHosts: ['{shop}.myshopify.com'],
    authorizationEndpoint: 'https://{shop}.myshopify.com/admin/oauth/authorize',
    tokenEndpoint: 'https://{shop}.myshopify.com/admin/oauth/access_token',
    clientAuthentication: 'client_secret_post',
    defaultScopes: ['read_products'],
    requestScopeSeparator: ',',
    scopeSeparator: ',',
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
    tokenResponse: { tokenType: 'bearer' },
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
  documentation: 'https://developer.zendesk.com/api-reference/ticketing/oauth/grant_type_tokens/',
  pkce: 'documented',
  placeholders: {
    subdomain: { kind: 'slug', help: 'The part before .zendesk.com', example: 'acme' },
  },
  scopes: inWords({
    read: ['Read everything you can in Zendesk', '读取您在 Zendesk 中可以访问的一切'],
    write: ['Change everything you can in Zendesk', '修改您在 Zendesk 中可以访问的一切'],
    'tickets:read': ['Read tickets', '读取工单'],
    'tickets:write': ['Create and change tickets', '创建和修改工单'],
    'users:read': ['See people in Zendesk', '查看 Zendesk 中的人员'],
    'users:write': ['Create and change people in Zendesk', '创建和修改 Zendesk 中的人员'],
    'organizations:read': ['See organisations', '查看组织'],
    'organizations:write': ['Create and change organisations', '创建和修改组织'],
    'hc:read': ['Read the help centre', '读取帮助中心'],
    'hc:write': ['Change the help centre', '修改帮助中心'],
    'macros:read': ['See macros', '查看宏'],
    'macros:write': ['Create and change macros', '创建和修改宏'],
    'triggers:read': ['See triggers', '查看触发器'],
    'triggers:write': ['Create and change triggers', '创建和修改触发器'],
    impersonate: ['Act for other people in Zendesk', '以其他人的身份在 Zendesk 中操作'],
  }),
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
