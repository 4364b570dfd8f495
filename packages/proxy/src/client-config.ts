import { UsageError } from './short-form.ts';

/** What MCP clients want to be told of a server on stdio. */
interface ServerEntry {
  readonly command: string;
  readonly args: readonly string[];
}

const shell = (words: readonly string[]): string =>
  words.map(word => (/^[\w@%+=:,./~-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`)).join(' ');
const json = (value: object): string => JSON.stringify(value, undefined, 2);

const writers = {
  'claude-desktop': (name, entry) => json({ mcpServers: { [name]: entry } }),
  'claude-code': (name, { command, args }) => `claude mcp add ${shell([name, '--', command, ...args])}`,
  vscode: (name, entry) => json({ servers: { [name]: { type: 'stdio', ...entry } } }),
  cursor: (name, entry) => json({ mcpServers: { [name]: entry } }),
  inspector: (_name, { command, args }) => shell(['npx', '@modelcontextprotocol/inspector', command, ...args]),
} as const satisfies Readonly<Record<string, (name: string, entry: ServerEntry) => string>>;

/**
 * The configuration of an MCP client with this proxy in place of a server.
 *
 * @throws {UsageError} for an unknown client
 */
export function clientConfig(client: string | undefined, name: string, proxied: readonly string[]): string {
  const write = Object.entries(writers).find(([known]) => known === client)?.[1];
  if (write === undefined) throw new UsageError(`--client: one of ${Object.keys(writers).join(', ')}`);
  return write(name, { command: 'npx', args: ['-y', '@postern/proxy', ...proxied] });
}
