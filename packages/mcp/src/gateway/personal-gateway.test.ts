import { once } from 'node:events';
import {
  chownSync,
  existsSync,
  lchownSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { McpServer } from '@modelcontextprotocol/server';
import {
  helloSchema,
  MessageLine,
  newNonce,
  personalFiles,
  proofOf,
  requestSchema,
  serverNameSchema,
  thisSystem,
  writeLink,
} from '@postern/api/local';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { postern } from '../index.ts';
import { GatewayLauncher, type GatewayParts, isNewer, nameOfServer, PersonalGateway } from './personal-gateway.ts';

let root: string;
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'postern-personal-')));
  vi.stubEnv('POSTERN_HOME', join(root, 'home'));
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
  rmSync(root, { recursive: true });
});

function install(folder: string, manifest: object, program = 'process.exit(1)'): string {
  const place = join(folder, 'node_modules/@postern/gateway');
  mkdirSync(place, { recursive: true });
  writeFileSync(join(place, 'package.json'), JSON.stringify(manifest));
  writeFileSync(join(place, 'postern.js'), program);
  return join(place, 'package.json');
}
const manifest = { version: '0.1.0', bin: { postern: './postern.js' } };
const nothingStarts = () => {
  throw new Error('nothing may start');
};
const gatewayOf = (
  script: string,
  connect: ConstructorParameters<typeof PersonalGateway>[0]['connect'] = nothingStarts,
  onError: (error: Error) => void = () => {},
) => new PersonalGateway({ launcher: new GatewayLauncher({ onError, script, system: thisSystem() }), connect });
const missing = expect.objectContaining({ code: 'no_gateway' });

describe('the gateway beside a program', () => {
  const isFoundFor = async (script: string) => {
    const { gateCheck } = gatewayOf(script);
    const { faults } = await gateCheck.run();
    if (faults.length === 0) gateCheck.expect('confirmation');
    else expect(() => gateCheck.expect('confirmation')).toThrow(missing);
    return faults.length === 0;
  };

  test('is that of the program or a folder above, and nothing starts before an ask', async () => {
    const script = join(root, 'server/dist/main.js');
    expect(await isFoundFor(script)).toBe(false);
    install(join(root, 'server'), manifest);
    expect(await isFoundFor(script)).toBe(true);
    expect(existsSync(join(root, 'home'))).toBe(false);
  });

  test('S250: is never that of the working directory, which any opened folder may be', async () => {
    install(join(root, 'opened'), manifest);
    vi.spyOn(process, 'cwd').mockReturnValue(join(root, 'opened'));
    expect(await isFoundFor(join(root, 'server/main.js'))).toBe(false);
  });

  test.runIf(process.getuid?.() === 0)('S250: is never one that another user has put above the program', async () => {
    const file = install(root, manifest);
    const found = () => isFoundFor(join(root, 'server/main.js'));
    expect(await found()).toBe(true);
    for (const path of [file, dirname(file), join(dirname(file), 'postern.js'), join(root, 'node_modules')]) {
      chownSync(path, 1234, 1234);
      expect(await found()).toBe(false);
      chownSync(path, 0, 0);
    }
    // A link of another user leads to a package of this one.
    renameSync(join(root, 'node_modules/@postern/gateway'), join(root, 'elsewhere'));
    symlinkSync(join(root, 'elsewhere'), join(root, 'node_modules/@postern/gateway'));
    expect(await found()).toBe(true);
    lchownSync(join(root, 'node_modules/@postern/gateway'), 1234, 1234);
    expect(await found()).toBe(false);
  });

  test('says which Node.js it needs, and that it did not start', async () => {
    const script = join(root, 'main.js');
    install(root, { ...manifest, engines: { node: '>=999.1' } });
    const ask = () => gatewayOf(script).client.cancel('el_1');
    await expect(ask()).rejects.toThrow(/999\.1/);
    install(root, manifest);
    await expect(ask()).rejects.toThrow(missing);
  });
});

describe('starting', () => {
  const starts = () => (existsSync(join(root, 'starts')) ? readFileSync(join(root, 'starts'), 'utf8').length : 0);
  const started = () => personalFiles(join(root, 'home'));

  /** Listens in place of the gateway that was to start, and lets each caller join. */
  async function listenAsGateway(): Promise<Disposable> {
    const key = newNonce();
    const socket = join(root, 'gateway.sock');
    const sockets = new Set<Disposable>();
    const server = createServer(async connection => {
      const line = new MessageLine(connection);
      sockets.add(line);
      const hello = await line.next(helloSchema);
      if (hello === undefined) return;
      const nonces = { caller: hello.nonce, gateway: newNonce() };
      line.send({ nonce: nonces.gateway, proof: proofOf(key, 'gateway', nonces), version: '0.1.0' });
      if ((await line.next(requestSchema)) === undefined) return;
      line.send({ answer: { url: 'http://127.0.0.1:1', apiKey: 'pk_0123456789abcdef', mcpServerId: 'notes' } });
    }).listen(socket);
    await once(server, 'listening');
    writeLink(started().store, { socket, key });
    return {
      [Symbol.dispose]() {
        for (const each of sockets) each[Symbol.dispose]();
        server.close();
      },
    };
  }

  /** @param program runs after the start was counted */
  function asking(program: string) {
    const count = `require('node:fs').appendFileSync(${JSON.stringify(join(root, 'starts'))}, '.');`;
    install(root, manifest, `${count}\n${program}`);
    const errors: string[] = [];
    const client = { cancel: async () => 'cancelled' } as never as GatewayParts['client'];
    const gateway = gatewayOf(
      join(root, 'main.js'),
      () => ({ client, tracedClient: () => client, gateCheck: {} as never }),
      error => errors.push(error.message),
    );
    return { asked: gateway.client.cancel('el_1'), errors };
  }

  test('once more when the gateway was killed before it listened', async () => {
    const { asked } = asking("process.kill(process.pid, 'SIGKILL')");
    await vi.waitFor(() => expect(starts()).toBe(2), { timeout: 10_000 });
    using _ = await listenAsGateway();
    expect(await asked).toBe('cancelled');
    expect(starts()).toBe(2);
  });

  test('joins another gateway that listens a moment after the own one could not start', async () => {
    const { asked } = asking('process.exit(1)');
    await vi.waitFor(() => expect(starts()).toBe(1), { timeout: 10_000 });
    await delay(300);
    using _ = await listenAsGateway();
    expect(await asked).toBe('cancelled');
  });

  test('says that it did not start, and names the log to the author alone', async () => {
    const { asked, errors } = asking('process.exit(1)');
    const message = await asked.then(String, (error: Error) => error.message);
    expect(message).toContain('npx @postern/gateway local');
    expect(message).not.toContain(root);
    expect(errors.join()).toContain(started().log);
  });

  test('says that the folder cannot be used, and why to the author alone', async () => {
    mkdirSync(join(root, 'real'), { mode: 0o700 });
    symlinkSync(join(root, 'real'), join(root, 'home'));
    const { asked, errors } = asking('process.exit(1)');
    const message = await asked.then(String, (error: Error) => error.message);
    expect(message).toMatch(/cannot be used/);
    expect(message).not.toContain(root);
    expect(errors).toEqual([expect.stringContaining(`${join(root, 'home')} is a symbolic link`)]);
    expect(starts()).toBe(0);
  });

  test('is refused in a sentence when the folder depends on the working directory', async () => {
    vi.stubEnv('POSTERN_HOME', 'home');
    await expect(asking('process.exit(1)').asked).rejects.toThrow('POSTERN_HOME is a relative path');
  });
});

test.each([
  ['0.1.0', '0.1.0-rc.1', true],
  ['0.1.0-rc.1', '0.1.0', false],
  ['1.0.0-rc.10', '1.0.0-rc.9', true],
  ['1.0.0-beta.11', '1.0.0-beta.2', true],
  ['1.0.0-beta', '1.0.0-alpha.beta', true],
  ['1.0.0-alpha.beta', '1.0.0-alpha.1', true],
  ['1.0.0-alpha.1', '1.0.0-alpha', true],
  ['1.0.0+2', '1.0.0+1', false],
  ['1.0.0', '1.0.0', false],
  ['0.10.0', '0.9.9', true],
  ['2.0.0-rc.1', '1.9.0', true],
  ['999.1', '26.10.0', true],
])('%s is newer than %s: %s', (version, than, isIt) => {
  expect(isNewer(version, than)).toBe(isIt);
  if (isIt) expect(isNewer(than, version)).toBe(false);
});

test('programs without a package have names of their own, and those of a package its name', () => {
  const folders = ['one', 'two'].map(name => join(root, name));
  const nameIn = (folder: string, file = 'server.mjs') => nameOfServer(join(folder, file), thisSystem());
  const names = [
    ...folders.map(folder => nameIn(folder)),
    ...folders.map(folder => nameIn(folder, `${'é'.repeat(99)}.js`)),
  ];
  expect(new Set(names).size).toBe(4);
  for (const name of names) expect(serverNameSchema.safeParse(name).success).toBe(true);
  expect(names[0]).toMatch(/^server-/);
  for (const folder of folders) mkdirSync(folder);
  for (const folder of folders) writeFileSync(join(folder, 'package.json'), '{"name":"@acme/notes"}');
  expect(folders.map(folder => nameIn(folder))).toEqual(['@acme/notes', '@acme/notes']);
});

/** What a tool that asks answers to a request from `address`, which names no user, and what the author sees. */
async function askedFrom(address: string, options?: Parameters<ReturnType<typeof postern>['endpoint']>[1]) {
  vi.stubEnv('POSTERN_URL', '');
  vi.stubEnv('POSTERN_API_KEY', '');
  vi.spyOn(process, 'cwd').mockReturnValue(root);
  const codes: unknown[] = [];
  const gate = postern({ onBackgroundError: error => codes.push('code' in error && error.code) });
  const endpoint = gate.endpoint(() => {
    const server = new McpServer({ name: 'notes', version: '1.0.0' });
    const handler = gate.tool(async (_, ctx) => {
      await ctx.gate.confirm('Delete the note');
      return { content: [] };
    });
    server.registerTool('delete', {}, handler);
    return server;
  }, options);
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'host', version: '1.0.0' },
    'io.modelcontextprotocol/clientCapabilities': { elicitation: { url: {} } },
  };
  const params = { name: 'delete', arguments: {}, _meta: meta };
  const request = new Request('http://localhost/mcp', {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': 'delete',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
  });
  const response = await endpoint.fetch(request, { remoteAddress: address });
  const text = await response.text();
  await endpoint.close();
  gate.close();
  return { text, codes };
}

test('S250: no request over HTTP uses the personal gateway, because anyone may have sent it', async () => {
  const { text, codes } = await askedFrom('127.0.0.1');
  expect(text).toContain('needs a gateway');
  expect(codes).toEqual(['no_gateway']);
  expect(existsSync(join(root, 'home'))).toBe(false);
});

test('S250: a request of a host that the author allows is not from the person of the folder', async () => {
  const folder = join(root, '.postern');
  mkdirSync(folder, { mode: 0o700 });
  const file = { url: 'http://127.0.0.1:9', apiKey: 'pk_0123456789abcdef0123456789abcdef' };
  writeFileSync(join(folder, 'mcp-server.json'), JSON.stringify(file), { mode: 0o600 });
  expect((await askedFrom('127.0.0.1')).codes).not.toContain('subject_unavailable');
  expect((await askedFrom('192.0.2.1', { allowedHosts: ['localhost'] })).codes).toContain('subject_unavailable');
});
