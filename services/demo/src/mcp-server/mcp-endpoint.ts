import type { IncomingMessage, ServerResponse } from 'node:http';
import { toNodeHandler } from '@modelcontextprotocol/node';
import {
  createMcpHandler,
  getOAuthProtectedResourceMetadataUrl,
  hostHeaderValidationResponse,
  isLegacyRequest,
  localhostAllowedHostnames,
  localhostAllowedOrigins,
  originValidationResponse,
  requireBearerAuth,
} from '@modelcontextprotocol/server';
import { createReceiptVerifier, postern, type ReceiptVerifierOptions } from '@postern/mcp';
import { MCP_SCOPE } from '../identity-provider.ts';
import { type HttpListener, listenHttp } from '../listen-http.ts';
import { createDeskHelper } from './desk-helper.ts';
import type { Ledger } from './ledger.ts';
import type { PickupDesk } from './pickup-desk.ts';
import { createSessions2025 } from './sessions-2025.ts';
import { createAccessTokenVerifier } from './verify-access-token.ts';

/**
 * Starts the example MCP server: streamable HTTP on one endpoint for both eras. It verifies bearer tokens. An MCP client without
 * a token learns from the challenge and the metadata (RFC 9728) where its user signs in.
 */
export async function startMcpEndpoint(p: {
  port: number;
  mcpUrl: string;
  issuer: string;
  jwksUri: string;
  forgeUrl: string;
  weatherUrl: string;
  gateway: { url: string; apiKey: string };
  receipts: ReceiptVerifierOptions;
  ledger: Ledger;
  pickupDesk: PickupDesk;
}): Promise<HttpListener> {
  const resource = new URL(p.mcpUrl);
  const metadataUrl = getOAuthProtectedResourceMetadataUrl(resource);
  const metadata = {
    resource: p.mcpUrl,
    resource_name: 'Desk Helper',
    authorization_servers: [p.issuer],
    scopes_supported: [MCP_SCOPE],
    bearer_methods_supported: ['header'],
  };
  const authenticate = requireBearerAuth({
    verifier: createAccessTokenVerifier({ issuer: p.issuer, jwksUri: p.jwksUri, audience: p.mcpUrl }),
    expectedResource: resource,
    requiredScopes: [MCP_SCOPE],
    resourceMetadataUrl: metadataUrl,
  });

  const gate = postern(p.gateway);
  const receiptVerifier = createReceiptVerifier(p.receipts);
  const { forgeUrl, weatherUrl, ledger, pickupDesk } = p;
  const create = () => createDeskHelper({ gate, forgeUrl, weatherUrl, receiptVerifier, ledger, pickupDesk });
  const modern = createMcpHandler(create, { legacy: 'reject' });
  const sessions = createSessions2025(create);

  async function answer(request: Request): Promise<Response> {
    const refused =
      hostHeaderValidationResponse(request, localhostAllowedHostnames()) ??
      originValidationResponse(request, localhostAllowedOrigins());
    if (refused !== undefined) return refused;

    const { pathname } = new URL(request.url);
    if (pathname === new URL(metadataUrl).pathname && request.method === 'GET') return Response.json(metadata);
    if (pathname !== resource.pathname) return new Response(null, { status: 404 });

    const authInfo = await authenticate(request);
    if (authInfo instanceof Response) return authInfo;
    return (await isLegacyRequest(request))
      ? await sessions.fetch(request, authInfo)
      : await modern.fetch(request, { authInfo });
  }

  // The SDK's Node types are not written for `exactOptionalPropertyTypes`; at run time the two are the same.
  const node = toNodeHandler({ fetch: answer }) as (
    request: IncomingMessage,
    response: ServerResponse,
  ) => Promise<void>;
  const listener = await listenHttp(p.port, (request, response) => void node(request, response));
  return {
    port: listener.port,
    async [Symbol.asyncDispose]() {
      gate.close();
      await sessions.close();
      await modern.close();
      await listener[Symbol.asyncDispose]();
    },
  };
}
