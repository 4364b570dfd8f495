import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { expandPreset, placeholderValueFault, providerConfigSchema } from './expand-preset.ts';
import { presets } from './index.ts';
import { type Preset, presetSchema, standardScopes } from './preset.ts';

/** The domains that a preset may use, with examples for its placeholders. */
const domains: Readonly<Record<string, readonly string[]>> = {
  airtable: ['airtable.com'],
  asana: ['asana.com'],
  atlassian: ['atlassian.com'],
  auth0: ['auth0.com'],
  bitbucket: ['bitbucket.org'],
  box: ['box.com'],
  clickup: ['clickup.com'],
  discord: ['discord.com'],
  docusign: ['docusign.com'],
  dropbox: ['dropbox.com', 'dropboxapi.com'],
  facebook: ['facebook.com'],
  figma: ['figma.com'],
  github: ['github.com'],
  'github-app': ['github.com'],
  'github-enterprise': ['acme.example'],
  gitlab: ['acme.example'],
  google: ['google.com', 'googleapis.com'],
  hubspot: ['hubspot.com', 'hubapi.com'],
  intercom: ['intercom.com', 'intercom.io'],
  'intercom-au': ['intercom.com', 'intercom.io'],
  'intercom-eu': ['intercom.com', 'intercom.io'],
  keycloak: ['acme.example'],
  linear: ['linear.app'],
  linkedin: ['linkedin.com'],
  microsoft: ['microsoftonline.com', 'microsoft.com'],
  'microsoft-entra': ['microsoftonline.com', 'microsoft.com'],
  monday: ['monday.com'],
  notion: ['notion.com'],
  okta: ['okta.com'],
  'okta-org': ['okta.com'],
  reddit: ['reddit.com'],
  salesforce: ['salesforce.com'],
  shopify: ['myshopify.com'],
  slack: ['slack.com'],
  spotify: ['spotify.com'],
  stripe: ['stripe.com'],
  twitch: ['twitch.tv'],
  x: ['x.com'],
  zendesk: ['zendesk.com'],
  zoom: ['zoom.us'],
};

/** The domain of a provider's documentation, if it differs from that of its endpoints. */
const documentationDomains: Readonly<Record<string, string>> = {
  bitbucket: 'atlassian.com',
  'github-enterprise': 'github.com',
  gitlab: 'gitlab.com',
  keycloak: 'keycloak.org',
  // LinkedIn belongs to Microsoft, which hosts its documentation.
  linkedin: 'microsoft.com',
  // The organisation of Reddit at GitHub, to which its own pages link.
  reddit: 'github.com',
  shopify: 'shopify.dev',
  slack: 'slack.dev',
};

const registration = { name: 'provider', clientId: 'client', clientSecret: 'x'.repeat(40) };
const schema = z.preprocess(expandPreset, providerConfigSchema);

function exampleValues(preset: Preset) {
  const examples = Object.entries(preset.placeholders).map(([name, { example }]) => [name, example]);
  return examples.length === 0 ? {} : { presetValues: Object.fromEntries(examples) };
}

function expanded(preset: Preset) {
  return schema.parse({ ...registration, preset: preset.name, ...exampleValues(preset) });
}

/** Returns every URL in a value. */
function addresses(value: unknown): string[] {
  if (typeof value === 'string') return /^[a-z]+:\/\//.test(value) ? [value] : [];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(addresses) : [];
}

const isWithin = ({ hostname }: URL, within: readonly string[]) =>
  within.some(domain => hostname === domain || hostname.endsWith(`.${domain}`));

test('the list has at least 30 presets, sorted and without duplicates', () => {
  const names = presets.map(({ name }) => name);
  expect(names.length).toBeGreaterThanOrEqual(30);
  expect(names).toEqual([...new Set(names)].sort());
  expect(Object.keys(domains).sort()).toEqual(names);
});

describe.each(presets.map(preset => [preset.name, preset] as const))('%s', (name, preset) => {
  test('is valid and has a kebab-case name', () => {
    expect(presetSchema.safeParse(preset).error).toBeUndefined();
    expect(name).toMatch(/^[a-z][a-z0-9]*(-[a-z0-9]+)*$/);
  });

  test('expands to a valid provider', () => {
    const { error } = schema.safeParse({ ...registration, preset: name, ...exampleValues(preset) });
    expect(error?.issues).toBeUndefined();
  });

  test('uses only hosts of the provider, with https', () => {
    // Scopes may look like URLs, but are never requested.
    const {
      scopeDescriptions: _,
      scopeImplies: __,
      baseScopes: ___,
      documentation: ____,
      ...config
    } = expanded(preset);
    const found = addresses(config);
    expect(found.length).toBeGreaterThan(0);
    for (const host of config.apiHosts ?? []) {
      expect([host, isWithin(new URL(`https://${host.replace('*', 'any')}`), domains[name] ?? [])]).toEqual([
        host,
        true,
      ]);
    }
    for (const address of found) {
      const url = new URL(address.replaceAll('{clientId}', 'client'));
      expect([address, isWithin(url, domains[name] ?? [])]).toEqual([address, true]);
      expect(url.protocol).toBe('https:');
      expect(url.username + url.password + url.port + url.hash).toBe('');
    }
  });

  test('links to documentation of the provider', () => {
    const url = new URL(expanded(preset).documentation ?? '');
    expect(url.protocol).toBe('https:');
    const documented = documentationDomains[name];
    const within = documented === undefined ? (domains[name] ?? []) : [documented];
    expect(isWithin(url, within)).toBe(true);
    if (preset.scopeDocumentation !== undefined) {
      expect(isWithin(new URL(preset.scopeDocumentation), within)).toBe(true);
    }
  });

  test('names the list of scopes that its own scopes come from', () => {
    const standard = Object.keys(standardScopes('openid', 'profile', 'email', 'offline_access'));
    const own = Object.keys(preset.scopes).filter(scope => !standard.includes(scope));
    expect(preset.scopeDocumentation !== undefined).toBe(own.length > 0);
  });

  test('has endpoints without query or trailing slash', () => {
    const { prefixes } = expanded(preset).scopeSpelling;
    const scopeLike = ['https://www.googleapis.com/auth', 'https://mail.google.com/', ...prefixes];
    for (const address of addresses(preset.provider)) {
      if (scopeLike.some(text => address.startsWith(text))) continue;
      expect(address).toMatch(/^https:\/\/[^\s?]+(\?fields=id,name)?$/);
      if (name !== 'auth0') expect(address).not.toMatch(/\/$/);
    }
  });

  test('fills every placeholder and uses every declared one', () => {
    const text = JSON.stringify(expanded(preset));
    expect([...text.matchAll(/\{\w+\}/g)].map(([match]) => match).filter(match => match !== '{clientId}')).toEqual([]);
    for (const placeholder of Object.keys(preset.placeholders)) {
      expect(JSON.stringify(preset.provider)).toContain(`{${placeholder}}`);
    }
  });

  test('has valid examples and fallbacks for its placeholders', () => {
    for (const placeholder of Object.values(preset.placeholders)) {
      expect(placeholderValueFault(placeholder, placeholder.example)).toBeUndefined();
      if ('fallback' in placeholder && placeholder.fallback !== undefined) {
        expect(placeholderValueFault(placeholder, placeholder.fallback)).toBeUndefined();
      }
    }
  });

  test('has placeholders only in hosts and single path segments', () => {
    for (const address of addresses(preset.provider)) {
      const { host, pathname } = new URL(address.replaceAll(/\{(\w+)\}/g, 'p--$1--p'));
      for (const part of [...host.split('.'), ...pathname.split('/')]) {
        if (part.includes('p--')) expect(part).toMatch(/^p--\w+--p$/i);
      }
    }
  });

  test('describes every scope that it names', () => {
    const { baseScopes, defaultScopes, unreportedScopes, scopeImplies } = expanded(preset);
    const named = new Set([
      ...baseScopes,
      ...defaultScopes,
      ...unreportedScopes,
      ...Object.entries(scopeImplies).flatMap(([scope, implied]) => [scope, ...implied]),
    ]);
    const undescribed = [...named].filter(scope => !Object.hasOwn(preset.scopes, scope));
    expect(undescribed.filter(scope => !scope.startsWith('*'))).toEqual([]);
  });

  test('lists all scopes that a scope implies, also indirectly', () => {
    const { scopeImplies } = expanded(preset);
    for (const [scope, implied] of Object.entries(scopeImplies)) {
      const further = implied.flatMap(other => scopeImplies[other] ?? []).filter(other => other !== scope);
      expect(implied).toEqual(expect.arrayContaining(further));
      expect(implied).not.toContain(scope);
    }
  });

  test('has a note if it cannot identify the account, revoke or use PKCE', () => {
    const { account, revocation, discovery } = expanded(preset);
    const notes = preset.notes.join(' ');
    if (account === undefined) expect(notes).toMatch(/account/);
    if (revocation === undefined && discovery === undefined) expect(notes).toMatch(/revo/i);
    if (preset.pkce === 'unsupported') expect(notes).toMatch(/PKCE|code verifier/);
  });
});
