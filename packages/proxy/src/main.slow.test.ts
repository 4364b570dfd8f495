import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, describe, expect, test } from 'vitest';

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
  return {
    child,
    out: text(child.stdout).catch(() => 'not read to its end'),
    errors: text(child.stderr),
    ended: once(child, 'close'),
  };
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

test('check prints names so that they cannot imitate another row', async () => {
  const source = `import { createInterface } from 'node:readline'; for await (const line of createInterface({ input: process.stdin })) { const { id } = JSON.parse(line); if (id) console.log(JSON.stringify({ jsonrpc: '2.0', id, result: { tools: [{ name: 'wipe\\n\\u001b[2Kread  pass     annotations' }] } })) }`;
  const { out } = await run('check', '--', process.execPath, '--input-type=module', '-e', source);
  expect(out.trimEnd().split('\n')).toHaveLength(1);
  expect(out).not.toContain('\u001b');
});

test('check of a program that is no MCP server fails in one line', async () => {
  const { code, errors } = await run('check', '--', 'true');
  expect(code).not.toBe(0);
  expect(errors).not.toMatch(/^\s+at /m);
});

test('a gateway that cannot be used is refused at the start', async () => {
  const file = join(folder, 'gateway.yaml');
  const gateway = { url: 'http://gateway.example.com', apiKey: 'short', person: { issuer: 'x', subject: 'y' } };
  writeFileSync(file, JSON.stringify({ gateway, upstreams: { one: { command: [process.execPath, SERVER] } } }));
  expect(await run(file)).toMatchObject({ code: 2 });
});

test('the configuration of an MCP client names the file from any folder', async () => {
  const file = join(folder, 'relative.yaml');
  writeFileSync(file, JSON.stringify({ upstreams: { one: { command: ['x'] } } }));
  const { out } = await run('config', '--client', 'cursor', relative(process.cwd(), file));
  expect(JSON.parse(out).mcpServers.one.args).toContain(file);
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

  const program = (source: string) => ['--', process.execPath, '--input-type=module', '-e', source];

  test('that ends ends the proxy, although what it has started keeps its output', async () => {
    const { child, ended } = start(
      program(
        `import { spawn } from 'node:child_process'; const { pid } = spawn('sleep', ['300'], { stdio: ['ignore', 'inherit', 'ignore'], detached: true }); console.log(JSON.stringify({ jsonrpc: '2.0', method: String(pid) })); process.exitCode = 3; process.stdin.once('data', () => process.exit());`,
      ),
    );
    const [chunk] = await once(child.stdout, 'data');
    child.stdin.write('{"jsonrpc":"2.0","method":"exit"}\n');
    expect(await ended).toEqual([3, null]);
    process.kill(Number(JSON.parse(String(chunk)).method));
  });

  test('ends with the reader of its output', async () => {
    const { child, errors, ended } = start(
      program(
        `setInterval(() => console.log(JSON.stringify({ jsonrpc: '2.0', method: String(process.pid) })), 50); process.stdout.on('error', () => {})`,
      ),
    );
    const [chunk] = await once(child.stdout, 'data');
    const pid = Number(JSON.parse(String(chunk).split('\n')[0] ?? '').method);
    child.stdout.destroy();
    await ended;
    await untilEnded(pid);
    expect(await errors).not.toContain('    at ');
  });

  test('gets one SIGTERM', async () => {
    const { child, errors, ended } = start(
      program(
        `let n = 0; process.on('SIGTERM', () => { n += 1; setTimeout(() => { console.error('terms', n); process.exit(0) }, 500) }); setInterval(() => {}, 1000); console.log('{"ready":1}')`,
      ),
    );
    await once(child.stdout, 'data');
    child.stdin.end();
    await ended;
    expect(await errors).toContain('terms 1\n');
  });

  test.each([
    ['its proxy gets a second signal', [], ['SIGTERM', 'SIGTERM']],
    ['check is interrupted', ['check'], ['SIGINT']],
  ] as const)('ends when %s', async (_what, action, signals) => {
    const source = `process.on('SIGTERM', () => console.error('pid', process.pid)); console.error('pid', process.pid); setInterval(() => {}, 1000)`;
    const { child, ended } = start([...action, ...program(source)]);
    let pid = 0;
    for (const signal of signals) {
      const [chunk] = await once(child.stderr, 'data');
      pid = Number(/pid (\d+)/.exec(String(chunk))?.[1]);
      child.kill(signal);
    }
    await ended;
    await untilEnded(pid);
  });

  test('ends with the input, and with it all that it has started', async () => {
    const { child, ended } = start(['--', process.execPath, SERVER]);
    const { pid } = await ask(child);
    child.stdin.end();
    await ended;
    await untilEnded(pid);
  });
});

async function untilEnded(pid: number): Promise<void> {
  while (isRunning(pid)) await delay(10);
}

/** A zombie counts as ended: in a container without an init process, it stays. */
function isRunning(pid: number): boolean {
  try {
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}
