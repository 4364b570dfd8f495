import { apiKeyHash, newApiKey } from './api-keys.ts';

// Prints a new API key once, and its hash for the configuration.
const key = newApiKey();
process.stdout.write(
  `API key (give it to the MCP server, it is not stored): ${key}\nhash (mcpServers[].apiKeys[].hash): ${apiKeyHash(key)}\n`,
);
