/** Predefined names for the examples of docs/asking-mcp-clients.md. */
import type { NodeStreamableHTTPServerTransport } from '@modelcontextprotocol/node';
import type { McpServer } from '@modelcontextprotocol/server';
import type { SharedSessions } from '@postern/mcp';

export { postern } from '@postern/mcp';
export declare const url: string;
export declare const apiKey: string;
export declare const sessions: SharedSessions;
export declare const server: McpServer;
export declare const transport: NodeStreamableHTTPServerTransport;
export declare const request: import('node:http').IncomingMessage;
export declare const response: import('node:http').ServerResponse;
