import {
  type CallToolResult,
  type Client,
  fromJsonSchema,
  type JsonSchemaType,
  ProtocolError,
  type Tool,
} from '@modelcontextprotocol/client';

/** SEP-2243: the MCP server requires an `Mcp-Param-*` header that the request lacks. */
const HEADER_MISMATCH = -32020;

/**
 * Caches the tools of an MCP server of 2026-07-28. From a definition `Client.callTool` learns which arguments to send as
 * headers too. It validates every response against the output schema, even `input_required`. So rounds use the definition
 * without its output schema, and only the final result is validated.
 */
export class ToolDefinitions {
  readonly #mcpClient: Client;
  #tools: ReadonlyMap<string, Tool> | undefined;
  /** Concurrent calls share one request. */
  #listing: Promise<ReadonlyMap<string, Tool>> | undefined;

  constructor(mcpClient: Client) {
    this.#mcpClient = mcpClient;
  }

  /** Finds a tool. Lists the tools again if the name is unknown. */
  async find(name: string): Promise<Tool | undefined> {
    return this.#tools?.get(name) ?? (await this.#list(this.#tools === undefined ? 'use' : 'refresh')).get(name);
  }

  /** Returns a newer definition if `error` reports an outdated one. */
  async successor(error: unknown, name: string): Promise<Tool | undefined> {
    if (!ProtocolError.isInstance(error) || error.code !== HEADER_MISMATCH) return undefined;
    return (await this.#list('refresh')).get(name);
  }

  #list(cacheMode: 'use' | 'refresh'): Promise<ReadonlyMap<string, Tool>> {
    this.#listing ??= this.#load(cacheMode).finally(() => {
      this.#listing = undefined;
    });
    return this.#listing;
  }

  async #load(cacheMode: 'use' | 'refresh'): Promise<ReadonlyMap<string, Tool>> {
    if (this.#mcpClient.getServerCapabilities()?.tools === undefined) return new Map();
    const { tools } = await this.#mcpClient.listTools(undefined, { cacheMode });
    this.#tools = new Map(tools.map(tool => [tool.name, tool]));
    return this.#tools;
  }
}

export function withoutOutputSchema(tool: Tool): Tool {
  const { outputSchema: _, ...rest } = tool;
  return rest;
}

/** Members of a JSON schema whose values have schemas by names, which may be those of keywords. */
const MAPS = new Set(['properties', '$defs', 'definitions', 'dependentSchemas']);
/** They check nothing, but a `$ref` can make a schema of them. */
const ANNOTATIONS = new Set(['default', 'examples']);

/**
 * Schema and content both come from the MCP server, and a regular expression may take for ever on a short text. So patterns are not
 * matched: text that violates one is accepted. A `$ref` can make a schema of `const` and `enum` as well, so theirs are removed, too.
 */
function withoutPatterns(schema: unknown, isMap = false): unknown {
  if (Array.isArray(schema)) return schema.map(each => withoutPatterns(each));
  if (typeof schema !== 'object' || schema === null) return schema;
  if (isMap) return Object.fromEntries(Object.entries(schema).map(([name, each]) => [name, withoutPatterns(each)]));
  const named = 'patternProperties' in schema;
  return Object.fromEntries(
    Object.entries(schema).flatMap(([name, value]) => {
      if (ANNOTATIONS.has(name) || name === 'patternProperties') return [];
      if (name === 'pattern' && typeof value === 'string') return [];
      // What only a pattern would allow must stay allowed.
      if (named && (name === 'additionalProperties' || name === 'unevaluatedProperties')) return [];
      return [[name, withoutPatterns(value, MAPS.has(name))]];
    }),
  );
}

/**
 * Builds the check of structured content against the output schema. Build it before the call: an unusable schema must fail
 * before the tool has any effect.
 */
export function outputCheck(tool: Tool | undefined): (result: CallToolResult) => Promise<boolean> {
  if (tool?.outputSchema === undefined) return async () => true;
  // The SDK's two types of a JSON schema differ under exactOptionalPropertyTypes.
  const { validate } = fromJsonSchema(withoutPatterns(tool.outputSchema) as JsonSchemaType)['~standard'];
  return async ({ isError, structuredContent }) =>
    isError === true || (structuredContent !== undefined && (await validate(structuredContent)).issues === undefined);
}
