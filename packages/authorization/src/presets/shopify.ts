import { definePreset, inWords } from './preset.ts';

/** Offline access to one shop. */
export const shopify = definePreset({
  name: 'shopify',
  displayName: 'Shopify',
  documentation: 'https://shopify.dev/docs/apps/build/authentication-authorization/authenticate-standalone-apps',
  pkce: 'undocumented',
  placeholders: {
    shop: { kind: 'slug', help: 'What stands before .myshopify.com', example: 'acme' },
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
    authorizationEndpoint: 'https://{shop}.myshopify.com/admin/oauth/authorize',
    tokenEndpoint: 'https://{shop}.myshopify.com/admin/oauth/access_token',
    clientAuthentication: 'client_secret_post',
    defaultScopes: ['read_products'],
    requestScopeSeparator: ',',
    scopeSeparator: ',',
    // Tokens that expire and can be refreshed; public apps must use them from January 2027.
    tokenParameters: { expiring: '1' },
    // Answers leave out a read scope when the write scope is granted.
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
    'One configured provider is one shop. The token belongs to the shop, not to a person, so no account is recognised.',
    'Tools send the token as X-Shopify-Access-Token, not as Authorization.',
    'The hmac of the callback is not checked; state and the browser session are. There is no revocation: the merchant uninstalls the app.',
  ],
});
