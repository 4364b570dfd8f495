import type { RequestListener } from 'node:http';
import { createReceiptVerifier, postern, type ReceiptVerifierOptions } from '@postern/mcp';
import { MCP_SCOPE } from '../identity-provider.ts';
import { type HttpListener, listenHttp } from '../listen-http.ts';
import { createDeskHelper } from './desk-helper.ts';
import type { Ledger } from './ledger.ts';
import type { PickupDesk } from './pickup-desk.ts';
import { textsForPeople } from './texts-for-people.ts';
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
  /** Serves everything that is not MCP. */
  pages: RequestListener;
}): Promise<HttpListener> {
  const gate = postern({ ...p.gateway, text: textsForPeople });
  const receiptVerifier = createReceiptVerifier(p.receipts);
  const { forgeUrl, weatherUrl, ledger, pickupDesk } = p;
  const mcp = gate.endpoint(
    () => createDeskHelper({ gate, forgeUrl, weatherUrl, receiptVerifier, ledger, pickupDesk }),
    {
      auth: {
        resource: p.mcpUrl,
        authorizationServers: [p.issuer],
        scopes: [MCP_SCOPE],
        verifyToken: createAccessTokenVerifier({ issuer: p.issuer, jwksUri: p.jwksUri, audience: p.mcpUrl }),
      },
    },
  );
  const listener = await listenHttp(p.port, (request, response) => {
    const isMcp = /^\/(?:mcp|\.well-known)\b/.test(request.url ?? '');
    if (isMcp) void mcp.node(request, response);
    else p.pages(request, response);
  });
  return {
    port: listener.port,
    async [Symbol.asyncDispose]() {
      gate.close();
      await mcp.close();
      await listener[Symbol.asyncDispose]();
    },
  };
}
