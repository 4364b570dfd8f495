/** The smallest pass-through that the SDK offers: its two stdio transports, wired together. */
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';

const [command = '', ...args] = process.argv.slice(2);
const upstream = new StdioClientTransport({ command, args });
const client = new StdioServerTransport();
client.onmessage = message => void upstream.send(message);
upstream.onmessage = message => void client.send(message);
process.stdin.once('end', () => void upstream.close());
await upstream.start();
await client.start();
