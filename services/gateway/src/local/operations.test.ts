import { getEventListeners } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findLocalGateway, joinedSchema, serverNameSchema } from '@postern/api/local';
import { describe, expect, test, vi } from 'vitest';
import { CliError } from '../cli/cli-io.ts';
import type { GatewayConfig } from '../platform/config/config-schema.ts';
import { slug } from '../platform/config/config-values.ts';
import { loadConfig } from '../platform/config/load-config.ts';
import { startLocalServer } from './local-server.ts';
import { createOperations, mcpServerIdOf } from './operations.ts';
import { preparePersonal } from './prepare-personal.ts';

test('names that differ are different MCP servers, under ids that the configuration takes', () => {
  const names = [
    'notes',
    'Notes',
    '@acme/notes',
    'acme-notes',
    'acme_notes',
    'acme-notes-aa4e85d5',
    'n'.repeat(40),
    'n'.repeat(41),
    'n'.repeat(64),
  ];
  const ids = names.map(name => mcpServerIdOf(serverNameSchema.parse(name)));
  for (const id of ids) expect(slug.safeParse(id).success).toBe(true);
  expect(new Set(ids).size).toBe(names.length);
  expect(ids[0]).toBe('notes');
});

test.each(['', '-', 'a b', 'a\n', '<b>', 'n'.repeat(65), 'nötes'])('%j is no name of an MCP server', name => {
  expect(serverNameSchema.safeParse(name).success).toBe(false);
});

test('a personal folder that cannot be used is named, and nothing is left of the attempt', async () => {
  const root = mkdtempSync(join(tmpdir(), 'postern-folder-'));
  using _ = { [Symbol.dispose]: () => rmSync(root, { recursive: true }) };
  await expect(preparePersonal(join(root, 'a}b'))).rejects.toThrow(CliError);
  expect(existsSync(join(root, 'a}b'))).toBe(false);
  const taken = join(root, 'taken');
  mkdirSync(join(taken, 'vault.key'), { recursive: true, mode: 0o700 });
  await expect(preparePersonal(taken)).rejects.toThrow(CliError);
  expect(readdirSync(taken)).toEqual(['vault.key']);
  await expect(preparePersonal('/dev/null/postern')).rejects.toThrow(CliError);
});

describe('joining', () => {
  async function personal(reloads = true) {
    const stack = new AsyncDisposableStack();
    const folder = mkdtempSync(join(tmpdir(), 'postern-join-'));
    stack.defer(() => rmSync(folder, { recursive: true }));
    const { config: configPath, store: storeFile } = await preparePersonal(folder);
    const load = () => loadConfig(configPath, {});
    const deps = { config: load() };
    const reload = async (next: () => GatewayConfig) => {
      if (reloads) deps.config = next();
    };
    const logger = { info() {}, warn() {} };
    let stopping = new AbortController().signal;
    const activity = {
      lastAt: 0,
      begin: () => ({ [Symbol.dispose]() {} }),
      openAsks: async () => 0,
      endIfIdle: async () => true,
    };
    const serve = createOperations({
      // Joining needs no more of a gateway than its configuration.
      gateway: { deps: deps as never, reload },
      activity,
      version: '1.0.0',
      configPath,
      storeFile,
      isPersonal: true,
      load,
      env: {},
      logger,
      runCli: async () => 0,
      stop() {},
    });
    const serving = async (...[request, line, signal]: Parameters<typeof serve>) => {
      stopping = signal;
      await serve(request, line, signal);
    };
    stack.use(
      await startLocalServer({
        storeFile,
        version: '1.0.0',
        logger,
        serve: serving,
        stores: { ping: async () => {}, refusals: () => [] },
        onStoreGone() {},
      }),
    );
    const joining = async (name: string) => {
      using gateway = await findLocalGateway(storeFile);
      return await gateway?.ask({ operation: 'join', name }, joinedSchema);
    };
    return {
      joining,
      deps,
      load,
      configPath,
      signal: () => stopping,
      [Symbol.asyncDispose]: () => stack.disposeAsync(),
    };
  }

  test('registers a name once, with the same key each time', async () => {
    await using world = await personal();
    const [first, again] = [await world.joining('notes'), await world.joining('notes')];
    expect(again).toEqual(first);
    expect(world.load().mcpServers.map(({ id }) => id)).toEqual(['personal', 'notes']);
    await vi.waitFor(() => expect(getEventListeners(world.signal(), 'abort')).toEqual([]));
  });

  test('is refused under the id of another entry, with too many servers, and when the gateway refuses the file', async () => {
    await using world = await personal();
    await expect(world.joining('personal')).rejects.toMatchObject({
      code: 'name_taken',
      message: expect.stringContaining('"personal" is the id of another entry'),
    });
    const { deps } = world;
    deps.config = { ...deps.config, mcpServers: Array.from({ length: 200 }, () => deps.config.mcpServers).flat() };
    await expect(world.joining('notes')).rejects.toMatchObject({ code: 'too_many' });
    expect(readFileSync(world.configPath, 'utf8')).not.toContain('notes');
    await using refusing = await personal(false);
    await expect(refusing.joining('notes')).rejects.toMatchObject({ code: 'not_registered' });
  });
});
