/** Predefined names for the examples of README.md. */
import type { CallToolResult, McpServer } from '@modelcontextprotocol/server';
import type { GatedContext } from '@postern/mcp';
import type { z } from 'zod';

export { postern } from '@postern/mcp';
export { z } from 'zod';
export declare const apiKey: string;
export declare const server: McpServer;
export declare const spec: { inputSchema: z.ZodObject<{ owner: z.ZodString }> };
export declare function listRepositories(response: Response): Promise<CallToolResult>;
export declare const ctx: GatedContext;
