/** One per MCP server and provider, so that an answer meant for one context cannot enter another (COAT). */
export function redirectUriOf(publicUrl: string, mcpServerId: string, provider: string): URL {
  return new URL(`/callback/${mcpServerId}/${provider}`, publicUrl);
}
