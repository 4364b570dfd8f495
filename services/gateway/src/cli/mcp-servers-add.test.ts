import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { listenHttp } from '@postern/testkit/providers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { apiKeyHash } from '../mcp-servers/api-keys.ts';
import { loadConfig } from '../platform/config/load-config.ts';
import { runCommand } from '../testing/run-command.ts';
import { sampleConfig, sampleMcpServer } from '../testing/sample-config.ts';
import { CliError } from './cli-io.ts';
import { withEntry } from './mcp-servers-add.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'postern-add-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

const wiki = { id: 'wiki', name: 'Wiki: "it\'s"', url: 'https://wiki.example/mcp', apiKeys: [{ hash: 'sha256:0' }] };
const lines = (indent: number) =>
  stringify([wiki], { lineWidth: 0 })
    .trimEnd()
    .split('\n')
    .map(line => `${' '.repeat(indent)}${line}`)
    .join('\n');

describe('the entry is the only change of the text', () => {
  test.each([
    ['at its end', 'mcpServers:\n  - id: a\n    providers: [b]', 2, ''],
    ['before other sections', 'mcpServers:\n- id: a\n  name: b   # why', 0, '\n\n# next\nlisten:   { port: 1 }\n'],
    ['after comments of the last entry', 'mcpServers:\n  - id: a\n    # payment:\n    #   processors: [none]', 2, '\n'],
    ['before comments of the next section', 'mcpServers:\n  - id: a', 2, '\n# next\nlisten: {}\n'],
    ['with line ends of Windows', 'mcpServers:\r\n  - id: a', 2, '\r\nlisten: {}\r\n'],
  ])('%s', (_, before, indent, after) => {
    expect(withEntry(`${before}${after}`, wiki)).toBe(`${before}\n${lines(indent)}${after}`);
  });

  test('in JSON', () => {
    expect(withEntry('{ "mcpServers": [{ "id": "a" }], "x": 1 }', wiki)).toBe(
      `{ "mcpServers": [{ "id": "a" }, ${JSON.stringify(wiki)}], "x": 1 }`,
    );
  });

  test.each([
    ['mcpServers: &all\n  - &a { id: a }\nother: *all\n'],
    ['mcpServers:\n  - id: a\n    name: |+\n      text\n\n\n'],
    ['mcpServers: []\n'],
  ])('and a text where it would not be is refused: %j', text => {
    expect(() => withEntry(text, wiki)).toThrow(CliError);
  });
});

let files = 0;
async function add(config: object, args: readonly string[], head = '') {
  files += 1;
  const path = join(folder, `${files}.yaml`);
  writeFileSync(path, `${head}${stringify(config)}`, { mode: 0o600 });
  chmodSync(path, 0o640);
  const before = readFileSync(path, 'utf8');
  const { code, out, err } = await runCommand(['mcp-servers', 'add', ...args, '-c', path]);
  return { code, out, err, path, isUnchanged: readFileSync(path, 'utf8') === before };
}
const company = () => sampleConfig({ listen: { port: 0 } });
const url = ['--url', 'https://wiki.example/mcp'];

describe('postern mcp-servers add', () => {
  test('writes an entry that the gateway accepts, and prints the key once', async () => {
    const { code, out, err, path } = await add(company(), ['wiki', ...url, '--providers', 'forge']);
    expect(code).toBe(0);
    expect(err).toContain('https://gate.example/callback/wiki/forge');
    const [, added] = loadConfig(path, {}).mcpServers;
    expect(added).toMatchObject({
      id: 'wiki',
      name: 'wiki',
      url: url[1],
      providers: ['forge'],
      issuers: ['https://id.example'],
      apiKeys: [{ hash: apiKeyHash(out.trim()) }],
    });
    expect(`${readFileSync(path, 'utf8')}${err}`).not.toContain(out.trim());
    // The gateway may run as a user that reads the file by its group.
    expect(statSync(path).mode & 0o777).toBe(0o640);
    expect(readdirSync(folder).filter(name => name.startsWith('.'))).toEqual([]);
  });

  test('on a machine of one person, the new MCP server has no sign-in either', async () => {
    const server = { ...sampleMcpServer, identity: { mode: 'loopback' } };
    const local = { ...company(), publicUrl: 'http://127.0.0.1:8080', identityProviders: [], mcpServers: [server] };
    const { code, path } = await add(local, ['wiki', ...url]);
    expect(code).toBe(0);
    expect(loadConfig(path, {}).mcpServers[1]).toMatchObject({
      identity: { mode: 'loopback' },
      issuers: sampleMcpServer.issuers,
    });
  });

  test('adds to a configuration whose variables are set only where the gateway runs', async () => {
    const vault = { keys: [{ kid: 'first', key: '${env:ELSEWHERE}' }] };
    expect(await add({ ...company(), vault }, ['wiki', ...url])).toMatchObject({ code: 0, isUnchanged: false });
  });

  test('sends the key to no program that does not know the vault keys', async () => {
    const seen: string[] = [];
    const stranger = await listenHttp((request, response) => {
      seen.push(request.headers.authorization ?? '');
      response.end('{"proof":"AAAA"}');
    });
    try {
      const { code } = await add({ ...company(), listen: { port: stranger.port } }, ['wiki', ...url]);
      expect(code).toBe(0);
      expect(seen).toEqual(['']);
    } finally {
      await stranger.close();
    }
  });

  const external = { ...sampleMcpServer, identity: { mode: 'external', verifyUrl: 'https://app.example/' } };
  const second = { name: 'other', issuer: 'https://other.example', clientId: 'postern' };
  test.each([
    ['an id that exists', company(), ['tracker', ...url], 1],
    ['an id that is no part of a URL', company(), ['A b', ...url], 1],
    ['an unknown provider', company(), ['wiki', ...url, '--providers', 'nowhere'], 1],
    [
      'users of one of two identity providers',
      sampleConfig({ identityProviders: [...(company().identityProviders ?? []), second] }),
      ['wiki', ...url],
      1,
    ],
    ['users of an application', { ...company(), identityProviders: [], mcpServers: [external] }, ['wiki', ...url], 1],
    ['no URL', company(), ['wiki'], 2],
  ])('refuses %s, and leaves the file as it is', async (_, config, args, expected) => {
    const { code, out, isUnchanged } = await add(config, args);
    expect({ code, out, isUnchanged }).toEqual({ code: expected, out: '', isUnchanged: true });
  });

  test('refuses the file of postern dev, and one that another command edits', async () => {
    const dev = await add(company(), ['wiki', ...url], '# Written at each start of postern dev.\n');
    expect(dev).toMatchObject({ code: 1, isUnchanged: true });
    const lockOf = (pid: number | undefined) => {
      const lock = join(folder, `.${files + 1}.yaml.lock`);
      writeFileSync(lock, `${pid} ${hostname()} ${'0'.repeat(16)}`);
      return lock;
    };
    const kept = lockOf(process.pid);
    expect(await add(company(), ['wiki', ...url])).toMatchObject({ code: 1, isUnchanged: true });
    expect(existsSync(kept)).toBe(true);
    // Left by a process that was killed.
    const { pid } = spawnSync(process.execPath, ['--version']);
    const left = lockOf(pid);
    expect(await add(company(), ['wiki', ...url])).toMatchObject({ code: 0 });
    expect(readdirSync(folder).filter(name => name.includes(basename(left)))).toEqual([]);
  });
});
