import {
  type CallToolResult,
  CLIENT_CAPABILITIES_META_KEY,
  inputRequired,
  inputResponse,
  type McpServer,
  type RequestStateCodec,
  type ServerContext,
} from '@modelcontextprotocol/server';
import type { Gate } from '@postern/mcp';
import { z } from 'zod';
import { registerFormTools } from './fixture-form-tools.ts';

const say = (text: string): CallToolResult => ({ content: [{ type: 'text', text }] });

const declaredSchema = z.object({
  [CLIENT_CAPABILITIES_META_KEY]: z.object({
    sampling: z.looseObject({}).optional(),
    elicitation: z.looseObject({}).optional(),
  }),
});

/** Whether sampling is all that can be asked of this MCP client. */
export function declaresSamplingOnly({ mcpReq }: ServerContext): boolean {
  const { sampling, elicitation } = declaredSchema.parse(mcpReq.envelope)[CLIENT_CAPABILITIES_META_KEY];
  return sampling !== undefined && elicitation === undefined;
}

export const samplingRequest = (text: string, maxTokens: number) =>
  inputRequired.createMessage({ messages: [{ role: 'user', content: { type: 'text', text } }], maxTokens });

const nameSchema = z.object({ name: z.string() });
const nameRequest = () => inputRequired.elicit({ message: 'What is your name?', requestedSchema: nameSchema });

/**
 * What the official suite calls, by the names it has fixed. Everything that Postern offers goes through `gate`; form mode,
 * sampling and roots are the SDK's and stand beside it in the same MCP server.
 */
export function registerFixtureTools(
  mcpServer: McpServer,
  gate: Gate,
  codec: RequestStateCodec<{ round: number }>,
): void {
  registerFormTools(mcpServer);

  for (const name of ['test_input_required_result_request_state', 'test_input_required_result_tampered_state']) {
    mcpServer.registerTool(
      name,
      {},
      gate.tool(async (_args, ctx) => {
        await ctx.gate.authorize('forge', { scopes: ['repo'] });
        return say('state-ok');
      }),
    );
  }

  mcpServer.registerTool(
    'test_input_required_result_multi_round',
    {},
    gate.tool(async (_args, ctx) => {
      // The second grant replaces the first one, so it has to hold what the first line asks for when the handler runs again.
      for (const scopes of [['repo'], ['repo', 'issues']]) {
        await ctx.gate.authorize('forge', { scopes });
      }
      return say('both rounds done');
    }),
  );

  const connect = gate.tool<undefined>(async (_args, ctx) => {
    await ctx.gate.authorize('forge', { scopes: ['repo'] });
    return say('connected');
  });
  mcpServer.registerTool('test_input_required_result_capabilities', {}, async ctx => {
    if (!declaresSamplingOnly(ctx)) return await connect(ctx);
    return inputRequired({
      inputRequests: { capital_question: samplingRequest('What is the capital of France?', 100) },
    });
  });

  registerInputTools(mcpServer, codec);
}

/** Sampling and roots, alone and together with a form: the SDK's. */
export function registerInputTools(mcpServer: McpServer, codec: RequestStateCodec<{ round: number }>): void {
  mcpServer.registerTool(
    'test_input_required_result_sampling',
    { description: 'asks for a sample' },
    async ({ mcpReq }) => {
      const answer = inputResponse(mcpReq.inputResponses, 'capital_question');
      if (answer.kind === 'sampling') return say(JSON.stringify(answer.result.content));
      return inputRequired({
        inputRequests: { capital_question: samplingRequest('What is the capital of France?', 100) },
      });
    },
  );

  mcpServer.registerTool(
    'test_input_required_result_list_roots',
    { description: 'asks for roots' },
    async ({ mcpReq }) => {
      const answer = inputResponse(mcpReq.inputResponses, 'client_roots');
      if (answer.kind === 'roots') return say(answer.roots.map(({ uri }) => uri).join(' '));
      return inputRequired({ inputRequests: { client_roots: inputRequired.listRoots() } });
    },
  );

  mcpServer.registerTool(
    'test_input_required_result_multiple_inputs',
    { description: 'asks for three things' },
    async ctx => {
      const { inputResponses, requestState } = ctx.mcpReq;
      const isComplete =
        inputResponse(inputResponses, 'user_name').kind === 'elicit' &&
        inputResponse(inputResponses, 'greeting').kind === 'sampling' &&
        inputResponse(inputResponses, 'client_roots').kind === 'roots';
      if (isComplete && requestState<{ round: number }>()?.round === 1) return say('all three answered');
      return inputRequired({
        inputRequests: {
          user_name: nameRequest(),
          greeting: samplingRequest('Generate a greeting', 50),
          client_roots: inputRequired.listRoots(),
        },
        requestState: await codec.mint({ round: 1 }, ctx),
      });
    },
  );
}
