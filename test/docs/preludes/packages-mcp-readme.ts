/** Predefined names for the examples of packages/mcp/README.md. */
import type { NodeStreamableHTTPServerTransport } from '@modelcontextprotocol/node';
import type { McpServer as McpServerV1 } from '@modelcontextprotocol/sdk/server/mcp.js';
import type { CallToolResult, McpServer } from '@modelcontextprotocol/server';
import type { ApiFetch, AuthorizationAccepted, GatedContext, SharedSessions } from '@postern/mcp';

export { readFileSync } from 'node:fs';
export type { IncomingMessage, ServerResponse } from 'node:http';
export { postern } from '@postern/mcp';
export { z } from 'zod';

export declare const url: string;
export declare const apiKey: string;
export declare const sessions: SharedSessions;
export declare const server: McpServer;
export declare const serverV1: McpServerV1;
export declare const ctx: GatedContext;
export declare const transport: NodeStreamableHTTPServerTransport;
export declare const request: import('node:http').IncomingMessage;
export declare const response: import('node:http').ServerResponse;
export declare function readSecret(name: string): string;
/** The rest of a tool, for both SDKs. */
export declare function createIssue(
  title: string,
  fetch: ApiFetch,
): Promise<{ content: { type: 'text'; text: string }[] }>;

/** A gate whose tools take texts. */
export declare const gate: {
  tool(
    handler: (
      args: { readonly title: string; readonly isbn: string; readonly repository: string },
      ctx: GatedContext,
    ) => Promise<CallToolResult>,
  ): void;
};
export declare const github: AuthorizationAccepted;
export declare const sdk: { call(token: string): Promise<{ readonly status: number }> };
export declare const shop: {
  order(isbn: string): Promise<{ readonly number: string }>;
  fulfil(number: string, proof: { readonly receipt: string; readonly idempotencyKey: string }): Promise<void>;
};
export declare const forge: { deleteRepository(name: string, idempotencyKey: string): Promise<void> };
export declare function callAcme(key: string): Promise<{ readonly status: number }>;
export declare function reserve(): Promise<void>;
export declare function release(): Promise<void>;
