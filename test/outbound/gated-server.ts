import { type AuthorizationAccepted, isElicitationPending, postern } from '@postern/mcp';
import type { AnsweredRequest, AnsweringMachine, HonestAnswer } from '@postern/testkit/any-answer';
import { z } from 'zod';
import { bearerIsSubject, type McpEndpoint, startMcpEndpoint } from '../support/mcp-endpoint.ts';

const elicitationId = 'el-1';
const json = (value: unknown, status = 200): HonestAnswer => ({
  status,
  headers: { 'content-type': 'application/json' },
  body: Buffer.from(JSON.stringify(value)),
});

/**
 * Responds like a gateway whose user has connected the account by the time of the read. @param connected resolves when
 * the user has connected; until then only waiting reads return it. Default: already resolved
 */
export function answerAsGateway(port: number, connected?: () => Promise<void>) {
  const outcome = { kind: 'authorization', connectionId: 'co-1', provider: 'forge', scopes: ['repo'] };
  const elicitation = (status: 'pending' | 'completed') => ({
    elicitationId,
    kind: 'authorization',
    status,
    url: `http://localhost:${port}/e/${elicitationId}`,
    matchCode: 'K7-42',
    createdAt: new Date(0).toISOString(),
    expiresAt: new Date(4e12).toISOString(),
    ...(status === 'completed' ? { outcome } : {}),
  });
  return async ({ method, path }: AnsweredRequest): Promise<HonestAnswer> => {
    if (path === '/v1/elicitations') return json(elicitation('pending'), 201);
    if (path.endsWith('/access-token'))
      return json({ accessToken: 'a-token', tokenType: 'Bearer', scopes: ['repo'], generation: 1 });
    if (method === 'GET' && path.startsWith('/v1/elicitations/')) {
      const isWaiting = path.includes('wait=');
      if (isWaiting) await connected?.();
      return json(elicitation(isWaiting || connected === undefined ? 'completed' : 'pending'));
    }
    return json({});
  };
}

export interface GatedServer extends AsyncDisposable {
  readonly endpoint: McpEndpoint;
  /** Errors outside of calls. */
  readonly background: readonly Error[];
}

/**
 * An MCP server whose tool returns its outcome, or the error that its handler got. The fault machine is its gateway.
 */
export async function startGatedServer(
  machine: AnsweringMachine,
  options: {
    readonly ownFetch?: typeof fetch | undefined;
    readonly gatewayTimeoutMs: number;
    readonly holdMs?: number;
    /** The tool's use of the connected account. */
    readonly use?: (account: AuthorizationAccepted) => Promise<string>;
  },
): Promise<GatedServer> {
  const { ownFetch, gatewayTimeoutMs, holdMs = 0, use = async ({ action }) => action } = options;
  const background: Error[] = [];
  const gate = postern({
    url: `http://localhost:${machine.port}`,
    apiKey: 'pk_only-for-tests-0123456789-0123456789',
    gatewayTimeoutMs,
    holdMs,
    fetch: ownFetch,
    onBackgroundError: error => void background.push(error),
  });
  const say = (text: string) => ({ content: [{ type: 'text' as const, text }] });
  const endpoint = await startMcpEndpoint({
    authenticate: bearerIsSubject('https://id.example'),
    gate,
    offer: mcpServer => {
      mcpServer.registerTool(
        'connect',
        { inputSchema: z.object({}) },
        gate.tool(async (_, ctx) => {
          try {
            const forge = await ctx.gate.authorize('forge', { scopes: ['repo'] });
            return say(forge.action === 'accept' ? await use(forge) : forge.action);
          } catch (error) {
            if (isElicitationPending(error)) throw error;
            return say(`error ${error instanceof Error && 'code' in error ? String(error.code) : String(error)}`);
          }
        }),
      );
    },
  });
  return {
    endpoint,
    background,
    async [Symbol.asyncDispose]() {
      gate.close();
      await endpoint[Symbol.asyncDispose]();
    },
  };
}
