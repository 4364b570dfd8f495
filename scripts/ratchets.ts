/**
 * What may not grow: how deep the packages are, how many of our own modules a request runs through, and how long the documents are.
 * When a change makes a number smaller, write the smaller number here.
 */

/** Package → modules of its longest chain of imports. */
export const floors: Readonly<Record<string, number>> = {
  'packages/api': 11,
  'packages/authorization': 11,
  'tools/conformance': 9,
  'packages/elicitation': 9,
  'packages/host': 8,
  'packages/mcp': 12,
  'tools/openid-server': 5,
  'packages/pages': 16,
  'packages/payment': 8,
  'packages/proxy': 12,
  'packages/store-redis': 12,
  'packages/store-sqlite': 9,
  'packages/testkit': 9,
  'packages/vault': 4,
  'tools/demo': 14,
  'services/gateway': 13,
};

/** Request of `pnpm walk` → our own modules that take part in it. */
export const ways: Readonly<Record<string, number>> = {
  'POST elicitations': 36,
  'OAuth callback': 59,
  'Stripe approval': 52,
  'GET ?wait=, woken': 25,
  'authorize(), connected': 16,
  'authorize(), asked': 20,
};

/** Documents → the words that they have together. */
export const words: readonly { readonly of: string; readonly paths: RegExp; readonly most: number }[] = [
  { of: 'README.md', paths: /^README\.md$/, most: 900 },
  { of: 'README.md and docs/', paths: /^(?:README\.md$|docs\/.*\.md$)/, most: 30_000 },
  { of: 'SECURITY.md', paths: /^SECURITY\.md$/, most: 5_500 },
  { of: 'packages/proxy/README.md', paths: /^packages\/proxy\/README\.md$/, most: 1_500 },
  { of: 'packages/mcp/README.md', paths: /^packages\/mcp\/README\.md$/, most: 2_500 },
];
