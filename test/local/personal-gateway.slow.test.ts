import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createConnection } from 'node:net';
import { join, relative } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { runCommand } from '../../services/gateway/src/testing/run-command.ts';
import { LocalWorld, program, untilEnded } from './local-world.ts';

const DELETED = 'deleted, receipt true';

let world: LocalWorld;
beforeEach(() => {
  world = new LocalWorld();
});
afterEach(() => world[Symbol.asyncDispose]());

/** Runs `postern`, as the person does in a terminal. */
const postern = (args: readonly string[], p: { signal?: AbortSignal; onOut?: () => void } = {}) =>
  runCommand(args, {
    env: { POSTERN_HOME: world.files.folder },
    ...(p.onOut && { out: p.onOut }),
    ...(p.signal && { signal: p.signal }),
  });
const inGateway = (...args: readonly string[]) => postern([...args, '-c', world.files.config]);

describe('stdio servers with nothing configured', () => {
  test('S250: the first ask starts one gateway for all, which gets nothing of the environment of a server', async () => {
    const canary = { SERVER_TOKEN: 'canary-token' };
    const [notes, mail] = await Promise.all([
      world.connect(world.install('notes-server'), { env: canary }),
      world.connect(world.install('mail-server')),
    ]);
    expect(existsSync(world.files.folder)).toBe(false);
    expect(await Promise.all([notes.call(), mail.call()])).toEqual([DELETED, DELETED]);
    expect(world.starts()).toBe(1);
    const status = await world.status();
    expect(status?.mcpServers).toEqual(['mail-server', 'notes-server']);
    const process = ['environ', 'cmdline'].map(name => readFileSync(`/proc/${status?.pid}/${name}`, 'latin1')).join();
    expect(process).toContain('HOME=');
    for (const secret of ['canary', 'pk_', readFileSync(world.files.vaultKey, 'utf8').trim()]) {
      expect(process).not.toContain(secret);
      expect(world.log + readFileSync(world.files.config, 'utf8')).not.toContain(secret);
    }
    expect(notes.printed() + mail.printed()).toBe('');
    expect(await notes.call('buy')).toBe('bought by none');
    // Only its owner adds providers, in the configuration of the gateway.
    expect(await mail.call('connect')).toContain('npx @postern/gateway status');
  });

  test('S251: the end of a server or of the gateway does not harm the others: the next ask starts it again', async () => {
    const server = world.install('notes-server');
    const [first, second] = await Promise.all([world.connect(server), world.connect(server)]);
    expect(await first.call()).toBe(DELETED);
    const { pid: gateway = 0, url } = (await world.status()) ?? {};
    process.kill(first.pid, 'SIGKILL');
    expect(await second.call()).toBe(DELETED);
    expect((await world.status())?.pid).toBe(gateway);
    process.kill(gateway, 'SIGKILL');
    await untilEnded(gateway);
    expect(await second.call()).toBe(DELETED);
    expect(await world.status()).toMatchObject({ url, mcpServers: ['notes-server'] });
    expect(world.starts()).toBe(2);
  });

  test('S252: a gateway ends when nothing needs it, never with an open ask, and the next ask starts it again', async () => {
    const server = world.install('notes-server', { version: '0.1.0', idleMs: 1_500 });
    const leaving = await world.connect(server, { answer: 'leave open' });
    await leaving.call();
    const { pid = 0, openAsks } = (await world.status()) ?? {};
    expect(openAsks).toBe(1);
    // Longer than the idle time, in which another server is served.
    const other = await world.connect(server);
    for (let asks = 0; asks < 3; asks += 1) expect(await other.call()).toBe(DELETED);
    expect((await world.status())?.pid).toBe(pid);
    const [id = ''] = /el_[\w-]+/.exec(leaving.urls[0] ?? '') ?? [];
    expect((await inGateway('elicitations', 'cancel', id, '--reason', 'test')).code).toBe(0);
    await untilEnded(pid);
    expect(await other.call()).toBe(DELETED);
    expect(world.starts()).toBe(2);
  });

  test('S252: a gateway that ends does not wait for half a request, which it would not serve', async () => {
    const server = await world.connect(world.install('notes-server', { version: '0.1.0', idleMs: 1_500 }));
    expect(await server.call()).toBe(DELETED);
    const { pid = 0, url = '' } = (await world.status()) ?? {};
    const half = createConnection(Number(new URL(url).port), '127.0.0.1');
    half.on('error', () => {}).write('GET /readyz HTTP/1.1\r\nHost: ');
    await untilEnded(pid);
    const [, stopping = ''] = /"time":"([^"]+)"[^\n]*"gateway\.stopping"/.exec(world.log) ?? [];
    expect(Date.now() - Date.parse(stopping)).toBeLessThan(5_000);
    half.destroy();
  });

  test('S252: a gateway whose folder was removed ends, makes nothing there, and the next ask starts one', async () => {
    const server = await world.connect(world.install('notes-server'));
    expect(await server.call()).toBe(DELETED);
    const { pid = 0 } = (await world.status()) ?? {};
    rmSync(world.files.folder, { recursive: true });
    await untilEnded(pid);
    expect(existsSync(world.files.folder)).toBe(false);
    expect(await server.call()).toBe(DELETED);
    expect((await world.status())?.pid).not.toBe(pid);
  });

  test('S253: a newer release takes over an idle older gateway, and says when it cannot', async () => {
    const old = await world.connect(world.install('old-server', { version: '0.0.1' }), { answer: 'leave open' });
    await old.call();
    const newer = world.install('new-server');
    const early = await world.connect(newer);
    expect(await early.call()).toBe(DELETED);
    expect(await early.call()).toBe(DELETED);
    expect((await world.status())?.version).toBe('0.0.1');
    expect(early.printed().match(/version 0\.0\.1/g)).toHaveLength(1);
    const [id = ''] = /el_[\w-]+/.exec(old.urls[0] ?? '') ?? [];
    const cancelled = await inGateway('elicitations', 'cancel', id, '--reason', 'test');
    // The command and the gateway have different versions.
    expect(cancelled).toMatchObject({ code: 0, err: expect.stringContaining('0.0.1') });
    await Promise.all([old.close(), early.close()]);
    // The old one is in use until it has noticed that their connections are closed.
    await expect
      .poll(async () => {
        const late = await world.connect(newer);
        expect(await late.call()).toBe(DELETED);
        return [(await world.status())?.version, late.printed()];
      })
      .toEqual([expect.not.stringMatching(/^0\.0\.1$/), '']);
  });

  test('without the package, or when turned off, an ask says what to do, and nothing starts', async () => {
    const bare = await world.connect(world.install('bare-server', false));
    expect(await bare.call()).toContain('npm install @postern/gateway');
    const off = await world.connect(world.install('off-server'), { env: { POSTERN_AUTOSTART: 'off' } });
    expect(await off.call()).toContain('POSTERN_URL');
    expect(existsSync(world.files.folder)).toBe(false);
  });
});

test('a damaged store ends every start once, is never replaced, and status says why', async () => {
  mkdirSync(world.files.folder, { recursive: true, mode: 0o700 });
  // A first page of ours, and nothing that SQLite can read.
  const page = Buffer.alloc(4_096, 0x5a);
  page.write('SQLite format 3\0', 'latin1');
  page.write('Post', 68);
  writeFileSync(world.files.store, page);
  for (let starts = 1; starts <= 2; starts += 1) {
    const started = spawn(process.execPath, [program, 'local'], { env: world.env, stdio: 'ignore' });
    expect(await once(started, 'close')).toEqual([1, null]);
    expect(readFileSync(world.files.store)).toEqual(page);
    expect(world.log.match(/is damaged/g)).toHaveLength(starts);
  }
  expect(await postern(['status'])).toMatchObject({ code: 1, err: expect.stringContaining('is damaged') });
});

describe('commands beside a running gateway', () => {
  test('S254: run in it, on the files of their caller, and end with their caller', async () => {
    expect(await postern(['status'])).toMatchObject({ code: 1, out: '' });
    const server = await world.connect(world.install('notes-server'));
    await server.call();
    // The name of an entry that the person has written is no name for another MCP server.
    const taken = await world.connect(world.install('personal'));
    expect(await taken.call()).toContain('"personal" is the id of another entry');
    const shown = await postern(['status', '--json']);
    expect(JSON.parse(shown.out)).toMatchObject({ running: true, log: world.files.log, openAsks: 0 });
    const second = spawn(process.execPath, [program, 'local'], { env: world.env, stdio: 'ignore' });
    expect(await once(second, 'close')).toEqual([0, null]);

    const why = ['--reason', 'test'];
    const file = join(world.root, 'second.key');
    // Relative to the caller, not to the gateway.
    const out = ['--out', relative(process.cwd(), file)];
    expect(await inGateway('api-keys', 'add', 'notes-server', 'second', ...out, ...why)).toMatchObject({
      code: 0,
      out: '',
    });
    expect(readFileSync(file, 'utf8')).toMatch(/^pk_/);
    // A file that exists already is refused before the gateway makes a key.
    expect((await inGateway('api-keys', 'add', 'notes-server', 'third', ...out, ...why)).code).toBe(1);
    const revoked = await inGateway(
      'api-keys',
      'revoke',
      '--key-file',
      relative(process.cwd(), file),
      '--json',
      ...why,
    );
    expect(JSON.parse(revoked.out)).toMatchObject({ result: 'revoked' });
    const listed = await inGateway('api-keys', 'list', '--json');
    expect(listed.out.match(/"apiKeyId"/g)).toHaveLength(2);
    expect((await inGateway('elicitations', 'show', 'el_unknown')).code).toBe(1);

    // One that never ends by itself is interrupted in the gateway.
    const interrupt = new AbortController();
    const followed = postern(['audit', '--follow', '-c', world.files.config], {
      signal: interrupt.signal,
      onOut: () => interrupt.abort(),
    });
    expect((await followed).code).toBe(130);
    const { pid = 0 } = (await world.status()) ?? {};
    expect(await postern(['stop'])).toMatchObject({ code: 0 });
    await untilEnded(pid);
    expect((await postern(['status'])).code).toBe(1);
    expect((await postern(['stop'])).code).toBe(0);
    // It would hold the file as long as its terminal is open.
    expect(await inGateway('audit', '--follow')).toMatchObject({ code: 1, out: '' });
  });
});
