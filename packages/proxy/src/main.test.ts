import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, describe, expect, test } from 'vitest';
import { nameOf } from './short-form.ts';

const folder = mkdtempSync(join(tmpdir(), 'postern-proxy-main-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** Answers every request with the environment and the process that has started beside it. */
const SERVER = join(folder, 'server.mjs');
writeFileSync(
  SERVER,
  `import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
const { pid } = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
console.log('Listening');
for await (const line of createInterface({ input: process.stdin })) {
  const { id } = JSON.parse(line);
  if (id !== undefined) console.log(JSON.stringify({ jsonrpc: '2.0', id, result: { env: process.env, pid, tools: [] } }));
}
setInterval(() => {}, 1000);
`,
);

function start(args: readonly string[], env: NodeJS.ProcessEnv = {}) {
  const main = join(import.meta.dirname, 'main.ts');
  const child = spawn(process.execPath, [main, ...args], { env: { PATH: process.env['PATH'], ...env } });
  return { child, out: text(child.stdout), errors: text(child.stderr), ended: once(child, 'close') };
}

async function run(...args: readonly string[]) {
  const { child, out, errors, ended } = start(args);
  child.stdin.end();
  const [code] = await ended;
  return { code, out: await out, errors: await errors };
}

test.each([[[]], [['check']], [['a.yaml', 'b.yaml']], [['--nothing', 'x']], [['config', 'x']], [['missing.yaml']]])(
  'arguments %j are refused with one text, and exit code 2',
  async args => {
    const { code, out, errors } = await run(...args);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(errors).not.toMatch(/^\s+at /m);
  },
);

test.each(['claude-desktop', 'claude-code', 'vscode', 'cursor', 'inspector'])(
  'prints the configuration of %s',
  async client => {
    const { code, out } = await run('config', '--client', client, '--', 'npx', '-y', '@scope/server-files', "it's");
    expect(code).toBe(0);
    expect(out).toContain('@postern/proxy');
    expect(out).toContain(client === 'claude-code' || client === 'inspector' ? `'it'\\''s'` : `"it's"`);
  },
);

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

describe('S264: a server', () => {
  const ask = async (child: ReturnType<typeof start>['child']) => {
    child.stdin.write('{"jsonrpc":"2.0","id":1,"method":"env"}\n');
    const [chunk] = await once(child.stdout, 'data');
    return JSON.parse(String(chunk)).result as { env: Record<string, string>; pid: number };
  };

  test('of the short form, with or without --, has the environment but for the key of the gateway', async () => {
    for (const args of [
      ['--', process.execPath, SERVER],
      [process.execPath, SERVER],
    ]) {
      const { child, ended } = start(args, { OWN: 'x', POSTERN_API_KEY: 'pk_secret' });
      const { env } = await ask(child);
      expect(env['OWN']).toBe('x');
      expect(JSON.stringify(env)).not.toContain('pk_secret');
      child.stdin.end();
      await ended;
    }
  });

  test('of a file has only the variables that the file names', async () => {
    const file = join(folder, 'p.yaml');
    const upstreams = { one: { command: [process.execPath, SERVER], env: { TOKEN: 'a-${env:OWN}' } } };
    writeFileSync(file, JSON.stringify({ upstreams }));
    const { child, ended } = start([file], { OWN: 'x', OTHER: 'y' });
    const { env } = await ask(child);
    expect(env).toMatchObject({ TOKEN: 'a-x' });
    expect(env).not.toHaveProperty('OTHER');
    child.stdin.end();
    await ended;
  });

  test('ends with the input, and with it all that it has started', async () => {
    const { child, ended } = start(['--', process.execPath, SERVER]);
    const { pid } = await ask(child);
    child.stdin.end();
    await ended;
    while (isRunning(pid)) await delay(10);
  });
});

/** A zombie is not: in a container, nobody may take it away. */
function isRunning(pid: number): boolean {
  try {
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}
