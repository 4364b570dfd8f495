/** One per identity provider, so that a code of one is never sent to another (RFC 9700 section 4.4.2.1). */
export function signInRedirectUriOf(publicUrl: string, identityProvider: string): URL {
  return new URL(`/login/callback/${identityProvider}`, publicUrl);
}

/** One per MCP server and provider, so that an answer meant for one context cannot enter another (COAT). */
export function redirectUriOf(publicUrl: string, mcpServerId: string, provider: string): URL {
  return new URL(`/callback/${mcpServerId}/${provider}`, publicUrl);
}
