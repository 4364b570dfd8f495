import { McpServer as McpServerV1 } from '@modelcontextprotocol/sdk/server/mcp.js';
import { McpServer } from '@modelcontextprotocol/server';
import { describe, expect, test } from 'vitest';
import { postern as posternV1 } from '../v1/gate.ts';
import { postern } from '../v2/gate.ts';

const options = { url: 'https://postern.example.com', apiKey: 'k'.repeat(32) };
const info = { name: 'issues', version: '1.0.0' };
const otherCopy = expect.objectContaining({ code: 'other_sdk_copy' });

/** The members of an McpServer without its class, like an instance of a second copy of the SDK. */
const lookAlike = <T extends object>(server: T): T => Object.create(null, Object.getOwnPropertyDescriptors(server));

describe('attach()', () => {
  test('accepts an McpServer of the SDK that this package imports, or of a derived class', () => {
    class IssueServer extends McpServer {}
    expect(() => postern(options).attach(new McpServer(info)).attach(new IssueServer(info))).not.toThrow();
    expect(() => posternV1(options).attach(new McpServerV1(info))).not.toThrow();
  });

  test('refuses an McpServer of another copy, or of the other SDK', () => {
    const servers: { readonly v1: McpServerV1; readonly v2: McpServer } = {
      v1: lookAlike(new McpServerV1(info)),
      v2: lookAlike(new McpServer(info)),
    };
    expect(() => postern(options).attach(servers.v2)).toThrow(otherCopy);
    expect(() => posternV1(options).attach(servers.v1)).toThrow(otherCopy);
    // Callers in JavaScript may mix the entry points.
    expect(() => Reflect.apply(posternV1(options).attach, undefined, [new McpServer(info)])).toThrow(otherCopy);
  });
});
