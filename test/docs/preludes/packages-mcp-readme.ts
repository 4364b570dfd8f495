/** Predefined names for the examples of packages/mcp/README.md. */
import type { CallToolResult, McpServer } from '@modelcontextprotocol/server';
import type { ApiFetch, GatedContext, McpEndpoint, SharedGate } from '@postern/mcp';

export type { IncomingMessage, ServerResponse } from 'node:http';
export { createServer } from 'node:http';
export { serve } from '@hono/node-server';
export { getConnInfo } from '@hono/node-server/conninfo';
export { postern } from '@postern/mcp';
export { default as express } from 'express';
export { fastify } from 'fastify';
export { Hono } from 'hono';
export { z } from 'zod';

/** A server, and the endpoint that serves such servers. */
export declare function createMcpServer(): McpServer;
export declare const mcp: McpEndpoint;
export declare function readSecret(name: string): string;
/** The rest of a tool. */
export declare function createIssue(
  title: string,
  fetch: ApiFetch,
): Promise<{ content: { type: 'text'; text: string }[] }>;

type Texts = Readonly<Record<'title' | 'isbn' | 'repository' | 'elicitationId', string>>;

/** A gate whose tools take texts. */
export declare const gate: Pick<SharedGate, 'endpoint' | 'stdio'> & {
  tool(handler: (args: Texts, ctx: GatedContext) => Promise<CallToolResult>): void;
};
export declare const shop: {
  fulfil(
    isbn: string,
    proof: { readonly order: string; readonly receipt: string; readonly idempotencyKey: string },
  ): Promise<void>;
};
export declare const forge: {
  deleteRepository(name: string, idempotencyKey: string): Promise<void>;
  archive(name: string, options: { notify: boolean }): Promise<void>;
};
export declare function callAcme(key: string): Promise<{ readonly status: number }>;
