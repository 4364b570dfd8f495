import type { Fault } from '../fault.ts';

export const completionFaults: readonly Fault[] = [
  {
    name: 'a completion notice goes to another MCP session',
    breaks: 'S13',
    file: 'packages/mcp/src/shared-sessions.ts',
    original: 'const session = here.get(sessionId);',
    replacement: 'const [session] = here.values();',
    foundBy: ['packages/mcp/src/shared-sessions.test.ts'],
  },
  {
    name: 'an MCP session is notified twice',
    breaks: 'S13',
    file: 'packages/mcp/src/completion-waiters.ts',
    original: 'if (existing !== undefined) return existing;',
    replacement: '',
    foundBy: ['packages/mcp/src/completion-waiters.test.ts'],
  },
  {
    name: 'a session that has closed is notified',
    breaks: 'S13',
    file: 'packages/mcp/src/completion-waiters.ts',
    original: 'if (signal.aborted) return undefined;\n    // Before the first await',
    replacement: '// Before the first await',
    foundBy: ['packages/mcp/src/completion-waiters.test.ts'],
  },
];
