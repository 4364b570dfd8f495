const issuer = 'https://id.example';
const clientId = 'postern';
const registered = { displayName: 'Odd', issuer, clientId };
const endpoints = {
  authorizationEndpoint: `${issuer}/authorize`,
  tokenEndpoint: `${issuer}/token`,
};

/** Provider configurations without their name, with one fault each. */
export const faultyProviders: readonly (readonly [fault: string, provider: object])[] = [
  ['no members', {}],
  ['no displayName', { issuer, clientId }],
  ['no clientId', { displayName: 'Odd', issuer }],
  ['neither issuer nor endpoints', { displayName: 'Odd', clientId }],
  ['a misspelt member', { ...registered, clientid: 'x' }],
  ['null without a preset', { ...registered, revocation: null }],
  ['scope names without a preset', { ...registered, scopes: ['read'] }],
  ['scopes: null without a preset', { ...registered, scopes: null }],
  ['presetValues without a preset', { ...registered, presetValues: { host: 'id.example' } }],
  ['an unknown preset', { preset: 'gitbub', clientId }],
  ['a preset without clientId', { preset: 'github', clientSecret: 's' }],
  ['a preset without its values', { preset: 'keycloak', clientId }],
  ['a preset with a missing value', { preset: 'keycloak', clientId, presetValues: { host: 'id.example' } }],
  [
    'a value that the preset does not know',
    { preset: 'github', clientId, clientSecret: 's', presetValues: { host: 'x' } },
  ],
  ['a number as preset value', { preset: 'okta', clientId, presetValues: { domain: 5 } }],
  ['an endpoint with http', { ...registered, userinfoEndpoint: 'http://id.example/me' }],
  ['an endpoint with a fragment', { ...registered, userinfoEndpoint: 'https://id.example/#me' }],
  ['an endpoint with a user', { ...registered, userinfoEndpoint: 'https://a:b@id.example/' }],
  ['an issuer with a query', { displayName: 'Odd', clientId, issuer: `${issuer}?x` }],
  ['a token endpoint without authorization endpoint', { ...registered, tokenEndpoint: `${issuer}/token` }],
  ['an authorization endpoint without token endpoint', { ...registered, authorizationEndpoint: `${issuer}/authorize` }],
  ['discovery together with endpoints', { ...registered, ...endpoints, discovery: 'oidc' }],
  ['the place of the metadata together with endpoints', { ...registered, ...endpoints, metadataUrl: `${issuer}/m` }],
  [
    'the place of the metadata together with discovery',
    { ...registered, metadataUrl: `${issuer}/m`, discovery: 'oidc' },
  ],
  [
    'the place of the metadata without issuer',
    { displayName: 'Odd', mcpResource: `${issuer}/mcp`, metadataUrl: `${issuer}/m` },
  ],
  [
    'a tenant that is no UUID',
    { ...registered, metadataUrl: `${issuer}/m`, issuer: `${issuer}/{tenantid}`, tenants: ['contoso'] },
  ],
  ['a protocol parameter among callbackMembers', { ...registered, callbackMembers: ['state'] }],
  ['keys together with discovery', { ...registered, jwksUri: `${issuer}/keys` }],
  ['a secret and a key', { ...registered, clientSecret: 's', clientKey: '{}' }],
  ['a client secret without client authentication', { ...registered, clientSecret: 's', clientAuthentication: 'none' }],
  ['no client secret for client_secret_post', { ...registered, clientAuthentication: 'client_secret_post' }],
  ['no client key for private_key_jwt', { ...registered, clientAuthentication: 'private_key_jwt' }],
  ['an unknown authentication method', { ...registered, clientAuthentication: 'basic' }],
  ['a scope with a space', { ...registered, defaultScopes: ['read write'] }],
  ['a description without English', { ...registered, scopes: { read: { de: 'Lesen' } } }],
  [
    'an authorization endpoint with a protocol parameter',
    { ...registered, ...endpoints, authorizationEndpoint: `${issuer}/authorize?a=b&scope=read` },
  ],
  ['a protocol parameter', { ...registered, authorizationParameters: { state: 'x' } }],
  ['a scope parameter that is another protocol parameter', { ...registered, scopeParameter: 'nonce' }],
  ['a string as lifetime', { ...registered, tokenResponse: { lifetimeSeconds: '3600' } }],
  ['a lifetime of zero', { ...registered, tokenResponse: { lifetimeSeconds: 0 } }],
  ['a method without style custom', { ...registered, revocation: { method: 'DELETE' } }],
  ['style custom without endpoint', { ...registered, revocation: { style: 'custom' } }],
  ['a placeholder in a host', { ...registered, revocation: { endpoint: 'https://{clientId}.example/' } }],
  ['a resource with a fragment', { ...registered, resources: ['https://api.example/#x'] }],
];
