import {
  type CallToolResult,
  type Client,
  fromJsonSchema,
  type JsonSchemaType,
  ProtocolError,
  type Tool,
} from '@modelcontextprotocol/client';

/** SEP-2243: the MCP server wants an `Mcp-Param-*` header that did not come. */
const HEADER_MISMATCH = -32020;

/**
 * The tools of an MCP server of 2026-07-28. `Client.callTool` takes from a definition which arguments travel as headers too,
 * and holds every answer against the output schema, `input_required` included. So a round gets the definition without its
 * output schema, and only the final answer is held against it.
 */
export class ToolDefinitions {
  readonly #mcpClient: Client;
  #tools: ReadonlyMap<string, Tool> | undefined;
  /** Calls that start together ask once. */
  #listing: Promise<ReadonlyMap<string, Tool>> | undefined;

  constructor(mcpClient: Client) {
    this.#mcpClient = mcpClient;
  }

  /** Asks the MCP server again for a name that it did not have. */
  async find(name: string): Promise<Tool | undefined> {
    return this.#tools?.get(name) ?? (await this.#list(this.#tools === undefined ? 'use' : 'refresh')).get(name);
  }

  /** A newer definition, where `error` says that the one at hand is out of date. */
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

/**
 * Whether structured content is what the tool has promised. Made before the call: a schema that cannot be checked must not
 * come to light after the tool has done its work.
 */
export function outputCheck(tool: Tool | undefined): (result: CallToolResult) => Promise<boolean> {
  if (tool?.outputSchema === undefined) return async () => true;
  // The SDK's two names for a JSON schema differ under exactOptionalPropertyTypes.
  const { validate } = fromJsonSchema(tool.outputSchema as JsonSchemaType)['~standard'];
  return async ({ isError, structuredContent }) =>
    isError === true || (structuredContent !== undefined && (await validate(structuredContent)).issues === undefined);
}
