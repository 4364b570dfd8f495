export interface ForeignClient {
  /** The name for `--only`, and of the driver in `clients`. */
  readonly name: string;
  /** What is installed from the registry, newest version; the first one is tested. */
  readonly packages: readonly string[];
  /** How the client is used, for the table. */
  readonly use: string;
  /** Why this is not the newest version. */
  readonly note?: string;
}

const handler = 'a handler shows the URL and consents';

/** Clients of others that can call a tool without a model. */
export const foreignClients: readonly ForeignClient[] = [
  { name: 'inspector', packages: ['@modelcontextprotocol/inspector'], use: '`--cli`, without a terminal' },
  { name: 'sdk-v1', packages: ['@modelcontextprotocol/sdk'], use: handler },
  { name: 'sdk-v2', packages: ['@modelcontextprotocol/client'], use: handler },
  { name: 'mastra', packages: ['@mastra/mcp', '@mastra/core', 'zod'], use: `${handler} (\`inputRequests\`)` },
  {
    name: 'mcp-use',
    packages: ['mcp-use@1', '@langchain/core', 'langchain'],
    use: `${handler} (\`onElicitation\`)`,
    note: '2.5.2 has only the server, so this is the last 1.x; its client, `@mcp-use/client`, is not checked',
  },
  { name: 'langchain', packages: ['@langchain/mcp-adapters', '@langchain/core'], use: 'the tool invoked directly' },
  {
    name: 'ai-sdk',
    packages: ['@ai-sdk/mcp', 'ai'],
    use: 'a handler (`onElicitationRequest`) takes forms only',
  },
  {
    name: 'openai-agents',
    packages: ['@openai/agents', 'zod'],
    use: '`MCPServerStreamableHttp`, the tool called directly',
  },
  { name: 'mcporter', packages: ['mcporter'], use: '`mcporter call`' },
  {
    name: 'mcp-remote',
    packages: ['mcp-remote', '@modelcontextprotocol/sdk'],
    use: `before SDK v1, where ${handler}`,
  },
];
