import type { ServerContext } from '@modelcontextprotocol/server';
import {
  type Authorization,
  CapabilityMissingError,
  isElicitationPending,
  type PosternOptions,
  postern,
  type SharedSessions,
} from '@postern/mcp';
import { z } from 'zod';
import { bearerIsSubject, type McpEndpoint, startMcpEndpoint } from './mcp-endpoint.ts';
import { watchHolds } from './watched-holds.ts';
import { keyOf, type World } from './world.ts';

export interface GatedEndpointOptions {
  /** Overrides of `url`, `apiKey` and `fetch`. */
  readonly postern?: Partial<PosternOptions<ServerContext>>;
  readonly legacy?: 'session' | 'stateless';
  /** Id of the registered MCP server. Default `tracker`. */
  readonly mcpServerId?: string;
  /** API address of the gateway. Default: the first replica. */
  readonly gatewayUrl?: string;
}

/** An MCP server built with `@postern/mcp`. The tools `connect` and `connect_too` return what the handler received. */
export interface GatedEndpoint extends McpEndpoint {
  /** Resolves when this MCP server has sent `count` waiting reads (default one) for this elicitation. */
  untilHolding(elicitationId: string, count?: number): Promise<void>;
}

/** Where sessions move, nothing is pushed, and −32042 asks. These stay. */
export const movingSessions: SharedSessions = { add: async () => {}, list: async () => [], subscribe: () => {} };

const say = (text: string) => ({ content: [{ type: 'text' as const, text }] });

export async function startGatedEndpoint(world: World, options: GatedEndpointOptions = {}): Promise<GatedEndpoint> {
  const holds = watchHolds();
  const gate = postern({
    url: options.gatewayUrl ?? world.gateways[0]?.address ?? world.publicUrl,
    apiKey: keyOf(options.mcpServerId ?? 'tracker'),
    ...options.postern,
    fetch: holds.fetch,
  });

  /** Returns the account of an access token, from the provider. */
  async function accountOf(authorization: Authorization & { action: 'accept' }): Promise<string> {
    const response = await fetch(`${world.provider.issuer}/me`, {
      headers: { authorization: `Bearer ${await authorization.accessToken()}` },
    });
    return z.object({ sub: z.string() }).parse(await response.json()).sub;
  }

  const endpoint = await startMcpEndpoint({
    authenticate: bearerIsSubject(world.identityProvider.issuer),
    legacy: options.legacy,
    gate,
    offer: mcpServer => {
      for (const name of ['connect', 'connect_too']) {
        mcpServer.registerTool(
          name,
          { inputSchema: z.object({ note: z.string().optional(), ttlSeconds: z.int().optional() }) },
          gate.tool(async ({ ttlSeconds }, ctx) => {
            try {
              const forge = await ctx.gate.try.authorize('forge', {
                scopes: ['repo'],
                ttlSeconds,
              });
              return forge.action === 'accept'
                ? say(`accept ${await accountOf(forge)}`)
                : say(`${forge.action} ${forge.reason}`);
            } catch (error) {
              if (isElicitationPending(error) || error instanceof CapabilityMissingError) throw error;
              return say(`error ${error instanceof Error && 'code' in error ? error.code : 'unknown'}`);
            }
          }),
        );
      }
    },
  });
  return {
    ...endpoint,
    untilHolding: holds.untilHolding,
    async [Symbol.asyncDispose]() {
      gate.close();
      await endpoint[Symbol.asyncDispose]();
    },
  };
}
