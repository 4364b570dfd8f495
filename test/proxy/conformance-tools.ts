import {
  acceptedContent,
  type CallToolResult,
  type ElicitRequestFormParams,
  fromJsonSchema,
  inputRequired,
  type JsonSchemaType,
  type McpServer,
  type RequestStateCodec,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { z } from 'zod';
import { registerFormTools } from '../conformance/official/fixture-form-tools.ts';
import { declaresSamplingOnly, registerInputTools, samplingRequest } from '../conformance/official/fixture-tools.ts';
import { AUDIO, IMAGE } from './conformance-content.ts';

/** Announces changes to MCP clients of revision 2026-07-28 that listen. */
export interface Changes {
  toolsChanged(): void;
  promptsChanged(): void;
}

export interface ConformanceToolsOptions {
  readonly codec: RequestStateCodec<{ round: number }>;
  readonly changes: Changes;
}

const say = (text: string): CallToolResult => ({ content: [{ type: 'text', text }] });

const contents: Readonly<Record<string, CallToolResult['content']>> = {
  test_simple_text: [{ type: 'text', text: 'This is a simple text response for testing.' }],
  test_image_content: [IMAGE],
  test_audio_content: [AUDIO],
  test_embedded_resource: [
    { type: 'resource', resource: { uri: 'test://embedded-resource', mimeType: 'text/plain', text: 'embedded' } },
  ],
  test_multiple_content_types: [
    { type: 'text', text: 'Multiple content types test:' },
    IMAGE,
    { type: 'resource', resource: { uri: 'test://mixed-content-resource', mimeType: 'application/json', text: '{}' } },
  ],
};

/** Of SEP-1613 and SEP-2106: what a server that rebuilds schemas would lose. */
const jsonSchema: JsonSchemaType = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  $defs: {
    address: {
      $anchor: 'addressDef',
      type: 'object',
      properties: { street: { type: 'string' }, city: { type: 'string' } },
    },
  },
  properties: {
    name: { type: 'string' },
    address: { $ref: '#/$defs/address' },
    contactMethod: { type: 'string', enum: ['phone', 'email'] },
    phone: { type: 'string' },
    email: { type: 'string' },
  },
  allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
  if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
  then: { required: ['phone'] },
  else: { required: ['email'] },
  additionalProperties: false,
};

/** Of SEP-2243: the argument is repeated in the header `Mcp-Param-Region`. */
const headerSchema = z.object({ region: z.string().meta({ 'x-mcp-header': 'Region' }) });

/** Every tool that the official suite calls by its name. */
export function registerConformanceTools(mcpServer: McpServer, p: ConformanceToolsOptions): void {
  for (const [name, content] of Object.entries(contents))
    mcpServer.registerTool(name, { description: `returns ${name}` }, async () => ({ content }));
  mcpServer.registerTool('test_error_handling', { description: 'fails' }, async () => {
    throw new Error('This tool intentionally returns an error for testing');
  });
  mcpServer.registerTool(
    'json_schema_2020_12_tool',
    { description: 'has a schema of 2020-12', inputSchema: fromJsonSchema(jsonSchema) },
    async args => say(JSON.stringify(args)),
  );
  mcpServer.registerTool(
    'test_header',
    { description: 'has an argument in a header', inputSchema: headerSchema },
    async args => say(JSON.stringify(args)),
  );
  registerTellingTools(mcpServer);
  registerFormTools(mcpServer);
  registerInputTools(mcpServer, p.codec);
  registerStateTools(mcpServer, p.codec);
  registerChangeTools(mcpServer, p.changes);
}

/** Tools that say something before their result, or ask for it on the same stream. */
function registerTellingTools(mcpServer: McpServer): void {
  const log = async ({ mcpReq }: ServerContext) => {
    for (const text of ['Tool execution started', 'Tool processing data', 'Tool execution completed'])
      await mcpReq.log('info', text);
    return say('logged');
  };
  mcpServer.registerTool('test_tool_with_logging', { description: 'logs three lines' }, log);
  mcpServer.registerTool('test_logging_tool', { description: 'logs three lines' }, log);
  mcpServer.registerTool('test_tool_with_progress', { description: 'tells its progress' }, async ({ mcpReq }) => {
    const progressToken = mcpReq._meta?.progressToken;
    for (const progress of progressToken === undefined ? [] : [0, 50, 100])
      await mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress, total: 100 } });
    return say(String(progressToken));
  });
  mcpServer.registerTool(
    'test_sampling',
    { description: 'asks for a sample', inputSchema: z.object({ prompt: z.string() }) },
    async ({ prompt }, { mcpReq }) => {
      const { content } = await mcpReq.requestSampling({
        messages: [{ role: 'user', content: { type: 'text', text: prompt } }],
        maxTokens: 100,
      });
      return say(`LLM response: ${JSON.stringify(content)}`);
    },
  );
  // The MCP client gets the result when it comes back with the id of the last event (SEP-1699).
  mcpServer.registerTool(
    'test_reconnection',
    { description: 'closes its stream before its result' },
    async ({ http }) => {
      http?.closeSSE?.();
      return say('after the stream was closed');
    },
  );
}

const confirmSchema: ElicitRequestFormParams['requestedSchema'] = {
  type: 'object',
  properties: { ok: { type: 'boolean' } },
  required: ['ok'],
};
const steps = [
  { key: 'step1', message: 'Step 1: What is your name?', requestedSchema: z.object({ name: z.string() }) },
  { key: 'step2', message: 'Step 2: What is your favorite color?', requestedSchema: z.object({ color: z.string() }) },
];

/** Tools with a state that the MCP client carries (2026-07-28), and what depends on its capabilities. */
function registerStateTools(mcpServer: McpServer, codec: RequestStateCodec<{ round: number }>): void {
  for (const name of ['test_input_required_result_request_state', 'test_input_required_result_tampered_state'])
    mcpServer.registerTool(name, { description: 'asks with a state' }, async ctx => {
      const isKnown = ctx.mcpReq.requestState<{ round: number }>()?.round === 1;
      if (isKnown && acceptedContent(ctx.mcpReq.inputResponses, 'confirm', z.object({ ok: z.boolean() })) !== undefined)
        return say('state-ok');
      return inputRequired({
        inputRequests: { confirm: inputRequired.elicit({ message: 'Please confirm', requestedSchema: confirmSchema }) },
        requestState: await codec.mint({ round: 1 }, ctx),
      });
    });

  mcpServer.registerTool('test_input_required_result_multi_round', { description: 'asks twice' }, async ctx => {
    const { inputResponses, requestState } = ctx.mcpReq;
    const before = requestState<{ round: number }>()?.round ?? 0;
    const answered = steps[before - 1];
    const isAnswered =
      answered !== undefined && acceptedContent(inputResponses, answered.key, answered.requestedSchema) !== undefined;
    const round = isAnswered || before === 0 ? before : before - 1;
    const next = steps[round];
    if (next === undefined) return say('both rounds done');
    return inputRequired({
      inputRequests: { [next.key]: inputRequired.elicit(next) },
      requestState: await codec.mint({ round: round + 1 }, ctx),
    });
  });

  mcpServer.registerTool(
    'test_input_required_result_capabilities',
    { description: 'asks for what the client can do' },
    async ctx => {
      if (!declaresSamplingOnly(ctx)) return say('nothing to ask');
      return inputRequired({
        inputRequests: { capital_question: samplingRequest('What is the capital of France?', 100) },
      });
    },
  );

  // The SDK refuses it for an MCP client that does not sample.
  mcpServer.registerTool('test_missing_capability', { description: 'asks for a sample in any case' }, async () =>
    inputRequired({ inputRequests: { question: samplingRequest('What is the capital of France?', 100) } }),
  );

  mcpServer.registerTool(
    'test_streaming_elicitation',
    { description: 'tells its progress, then asks' },
    async ({ mcpReq }) => {
      await mcpReq.notify({ method: 'notifications/progress', params: { progressToken: 'streamed', progress: 1 } });
      return inputRequired({
        inputRequests: { confirm: inputRequired.elicit({ message: 'Please confirm', requestedSchema: confirmSchema }) },
      });
    },
  );
}

function registerChangeTools(mcpServer: McpServer, changes: Changes): void {
  mcpServer.registerTool('test_trigger_tool_change', { description: 'announces a change of the tools' }, async () => {
    changes.toolsChanged();
    return say('told');
  });
  mcpServer.registerTool(
    'test_trigger_prompt_change',
    { description: 'announces a change of the prompts' },
    async () => {
      changes.promptsChanged();
      return say('told');
    },
  );
}
