/** Predefined names for the examples of packages/mcp/README.md. */
import type { CallToolResult, McpServer } from '@modelcontextprotocol/server';
import type {
  AccountRequests,
  ApiFetch,
  AuthorizationAccepted,
  GatedContext,
  HandlerOptions,
  McpEndpoint,
  SharedGate,
} from '@postern/mcp';

export { readFileSync } from 'node:fs';
export type { IncomingMessage, ServerResponse } from 'node:http';
export { createServer } from 'node:http';
export { serve } from '@hono/node-server';
export { getConnInfo } from '@hono/node-server/conninfo';
export { CapabilityMissingError, postern } from '@postern/mcp';
export { default as express } from 'express';
export { fastify } from 'fastify';
export { Hono } from 'hono';
export { z } from 'zod';

export declare const url: string;
export declare const apiKey: string;
export declare const server: McpServer;
/** A server, and the endpoint that serves such servers. */
export declare function createMcpServer(): McpServer;
export declare const mcp: McpEndpoint;
export declare const ctx: GatedContext;
export declare function readSecret(name: string): string;
/** The rest of a tool, for both SDKs. */
export declare function createIssue(
  title: string,
  fetch: ApiFetch,
): Promise<{ content: { type: 'text'; text: string }[] }>;

type Texts = Readonly<Record<'title' | 'isbn' | 'repository' | 'elicitationId', string>>;

/** A gate whose tools take texts. */
export declare const gate: Pick<SharedGate, 'endpoint' | 'prompt' | 'stdio'> & {
  tool(handler: (args: Texts, ctx: GatedContext) => Promise<CallToolResult>): void;
  tool<const Requests extends AccountRequests>(
    options: HandlerOptions<Requests>,
    handler: (args: Texts, ctx: GatedContext<Requests>) => Promise<CallToolResult>,
  ): void;
};
export declare const report: { send(): Promise<void>; keepAsDraft(): Promise<void> };
export declare const github: AuthorizationAccepted;
export declare const sdk: { call(token: string): Promise<{ readonly status: number }> };
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
export declare function send(idempotencyKey: string): Promise<CallToolResult>;
