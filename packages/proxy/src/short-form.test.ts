import { expect, test } from 'vitest';
import { nameOf, wholeEnvironment } from './short-form.ts';

test.each([
  [['npx', '-y', '@modelcontextprotocol/server-filesystem@2026.8.31', '/a'], 'server-filesystem'],
  [['node', '/opt/mcp-notes/dist/index.js'], 'mcp-notes'],
  [['uvx', '--quiet', 'mcp-server-git==1.0'], 'mcp-server-git'],
  [['/usr/bin/my server', 'x'], 'my-server'],
  [['C:\\Tools\\srv.exe'], 'srv'],
  [['node', '.'], 'mcp-server'],
])('the server of %j is shown as %s', (command, name) => {
  expect(nameOf(command)).toBe(name);
});

test('S264: the environment of the server has no variable of the gateway', () => {
  const env = { OWN: 'x', POSTERN_API_KEY: 'pk_secret', POSTERN_URL: 'https://gate.example.com' };
  expect(wholeEnvironment(env)).toEqual({ OWN: 'x' });
});
