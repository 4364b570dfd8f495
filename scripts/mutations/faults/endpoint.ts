import type { Fault } from '../fault.ts';

const foundBy = ['packages/mcp/src/http/endpoint.integration.test.ts'];

export const endpointFaults: readonly Fault[] = [
  {
    name: 'a web page that rebinds its name may call an MCP server on loopback',
    breaks: 'S93',
    file: 'packages/mcp/src/http/origin-check.ts',
    original: 'hosts === undefined ? LOOPBACK.test(name) : hosts.includes(name)',
    replacement: 'hosts === undefined || hosts.includes(name)',
    foundBy,
  },
  {
    name: 'a web page of any origin may call an MCP server',
    breaks: 'S93',
    file: 'packages/mcp/src/http/origin-check.ts',
    original: "return isLoopback ? undefined : jsonRpcError(403, -32000, 'Origin not allowed');",
    replacement: "return isLoopback || origin !== '' ? undefined : jsonRpcError(403, -32000, '');",
    foundBy,
  },
  {
    name: 'an expired access token is accepted',
    breaks: 'S93',
    file: 'packages/mcp/src/http/bearer.ts',
    original: 'if (expiresAt !== undefined && expiresAt * 1000 <= Date.now()) return false;',
    replacement: '',
    foundBy,
  },
  {
    name: 'an access token for another resource is accepted',
    breaks: 'S93',
    file: 'packages/mcp/src/http/bearer.ts',
    original: 'return resource === undefined || resource.href === new URL(auth.resource).href;',
    replacement: 'return true;',
    foundBy,
  },
  {
    name: 'a token of middleware replaces the one that the endpoint verifies',
    breaks: 'S93',
    file: 'packages/mcp/src/http/endpoint.ts',
    original: 'auth === undefined || metadata === undefined ? verified',
    replacement: 'verified !== undefined || auth === undefined || metadata === undefined ? verified',
    foundBy,
  },
  {
    name: 'an MCP session works for another user',
    breaks: 'S94',
    file: 'packages/mcp/src/http/sessions.ts',
    original: 'if (session?.transport === undefined || session.owner !== owner) {',
    replacement: 'if (session?.transport === undefined) {',
    foundBy,
  },
  {
    name: 'concurrent requests open more MCP sessions than allowed',
    breaks: 'S94',
    file: 'packages/mcp/src/http/sessions.ts',
    original: 'if (this.#sessions.size < this.#limits.maxSessions) return true;',
    replacement: 'return true;',
    foundBy,
  },
  {
    name: 'a request body of any size is read',
    breaks: 'S94',
    file: 'packages/mcp/src/http/json-body.ts',
    original: 'if (size > limit) ',
    replacement: 'if (size > 2 ** 40) ',
    foundBy,
  },
];
