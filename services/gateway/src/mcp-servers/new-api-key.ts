import { createHash, randomBytes } from 'node:crypto';

// Prints a new API key once, and its hash for the configuration.
const key = `pk_${randomBytes(32).toString('base64url')}`;
const hash = `sha256:${createHash('sha256').update(key).digest('hex')}`;
process.stdout.write(
  `API key (give it to the MCP server, it is not stored): ${key}\nhash (mcpServers[].apiKeys[].hash): ${hash}\n`,
);
