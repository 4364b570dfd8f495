/** The page of an elicitation, as a path on this gateway. */
export const elicitationPath = (elicitationId: string): string => `/e/${elicitationId}`;

/** Path of the receipt of an approved payment or confirmation. */
export const receiptPath = (elicitationId: string): string => `${elicitationPath(elicitationId)}/receipt`;

/** The pages behind `/me`, by what they show. */
export const mePaths = { browsers: '/me/browsers', data: '/me/data', history: '/me/history' } as const;

/** The link that the user opens. */
export const elicitationUrl = (publicUrl: string, elicitationId: string): string =>
  `${publicUrl}${elicitationPath(elicitationId)}`;

/** One redirect URI per identity provider, so that a code of one is never sent to another (RFC 9700 section 4.4.2.2). */
export function signInRedirectUriOf(publicUrl: string, identityProvider: string): URL {
  return new URL(`/login/callback/${identityProvider}`, publicUrl);
}

/** Where an identity provider sends the browser after a sign-out there (OpenID Connect RP-Initiated Logout 1.0). */
export function postLogoutRedirectUriOf(publicUrl: string, identityProvider: string): URL {
  return new URL(`/logout/callback/${identityProvider}`, publicUrl);
}

/** One redirect URI per MCP server and provider, so that a callback of one context cannot enter another (COAT). */
export function redirectUriOf(publicUrl: string, mcpServerId: string, provider: string): URL {
  return new URL(`/callback/${mcpServerId}/${provider}`, publicUrl);
}
