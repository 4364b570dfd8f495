import type { ClientPresentation } from '@postern/authorization';
import type { GatewayConfig } from '../config/config-schema.ts';
import type { RegisteredMcpServer } from '../registered-mcp-server.ts';

/** Below `/oauth`, with what follows `/callback` in the redirect URI: MCP server and provider. */
export const CLIENT_PATHS = { document: '/oauth/clients', keySet: '/oauth/keys' } as const;

/** How the gateway presents itself where it registers by itself: in the name of the MCP server that asks. */
export function createClientPresentation(p: {
  config: Pick<GatewayConfig, 'publicUrl' | 'branding'>;
  mcpServers: ReadonlyMap<string, RegisteredMcpServer>;
}): ClientPresentation {
  const under = (folder: string, redirectUri: URL) =>
    new URL(redirectUri.pathname.replace(/^\/callback/, folder), p.config.publicUrl);

  return {
    describe(redirectUri) {
      const mcpServerId = redirectUri.pathname.split('/')[2] ?? '';
      const mcpServer = p.mcpServers.get(mcpServerId);
      if (mcpServer === undefined) throw new TypeError('the redirect URI is of no registered MCP server');
      const { name, logoPath } = mcpServer.config;
      return {
        clientName: name,
        clientUri: p.config.publicUrl,
        ...(logoPath === undefined ? {} : { logoUri: new URL(logoPath, p.config.publicUrl).href }),
      };
    },
    documentUrl: redirectUri => under(CLIENT_PATHS.document, redirectUri),
    keySetUrl: redirectUri => under(CLIENT_PATHS.keySet, redirectUri),
  };
}
