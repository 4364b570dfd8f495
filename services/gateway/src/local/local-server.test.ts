import { getEventListeners, once } from 'node:events';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import {
  findLocalGateway,
  LocalError,
  LocalRefusal,
  linkFileOf,
  localStatusSchema,
  MAX_MESSAGE,
  MAX_TEXT,
  type MessageLine,
  newNonce,
  proofOf,
  readLink,
  type System,
  stoppedSchema,
  thisSystem,
  writeLink,
} from '@postern/api/local';
import { createSqliteStores } from '@postern/store-sqlite';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { CliError, type CliIo } from '../cli/cli-io.ts';
import { runInGateway } from '../cli/through-gateway.ts';
import type { Periodic, PeriodicOptions } from '../platform/periodic.ts';
import { type LocalServerOptions, startLocalServer } from './local-server.ts';
import { serveCommand } from './remote-command.ts';

const stack = { open: new AsyncDisposableStack() };
let root: string;
let system: System;
let storeFile: string;
let warned: unknown[];
let gone: number;
let look: () => Promise<unknown>;
const repeat = ({ run }: PeriodicOptions): Periodic => {
  look = () => run(new AbortController().signal);
  const stop = async () => {};
  return { stop, [Symbol.asyncDispose]: stop };
};
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'postern-socket-'));
  system = { ...thisSystem(), env: { XDG_RUNTIME_DIR: root } };
  storeFile = join(root, 'postern.sqlite');
  warned = [];
  gone = 0;
  stores = { ping: async () => {}, refusals: () => [] };
  stack.open = new AsyncDisposableStack();
});
afterEach(async () => {
  await stack.open.disposeAsync();
  rmSync(root, { recursive: true });
});

const logger = {
  info() {},
  warn(fields: object) {
    warned.push(fields);
  },
};
const answering = async (_: unknown, line: MessageLine) => line.send({ answer: { stopped: true } });
let stores: LocalServerOptions['stores'];
const onStoreGone = () => {
  gone += 1;
};
const start = async (serve: LocalServerOptions['serve'] = answering, version = '0.1.0') =>
  stack.open.use(await startLocalServer({ storeFile, version, logger, serve, system, repeat, stores, onStoreGone }));
/** Where it listens, and where it would. */
const socket = () => readLink(storeFile, system)?.socket ?? join(root, 'left.sock');
const runtime = () => join(root, 'postern');
const stop = { operation: 'stop', ifIdle: true } as const;

/** Sends bytes, and returns what comes back until the end. */
async function raw(...messages: readonly string[]): Promise<string> {
  const connection = connect(socket());
  for (const message of messages) connection.write(message);
  return await text(connection);
}

describe('the local socket', () => {
  test('serves its owner, and is nowhere after it has ended', async () => {
    const server = await start();
    using found = await findLocalGateway(storeFile, system);
    expect(found?.version).toBe('0.1.0');
    expect(await found?.ask(stop, stoppedSchema)).toEqual({ stopped: true });
    const path = socket();
    expect([dirname(path), lstatSync(path).mode & 0o777]).toEqual([root, 0o600]);
    await server[Symbol.asyncDispose]();
    expect(await findLocalGateway(storeFile, system)).toBeUndefined();
    expect([path, linkFileOf(storeFile)].filter(existsSync)).toEqual([]);
  });

  test('replaces that of a gateway that was killed', async () => {
    writeFileSync(socket(), '');
    writeLink(storeFile, { socket: socket(), key: newNonce() });
    expect(await findLocalGateway(storeFile, system)).toBeUndefined();
    await start();
    using found = await findLocalGateway(storeFile, system);
    expect(found).toBeDefined();
  });

  test.each([
    ['that others may open', () => mkdirSync(runtime(), { mode: 0o755 })],
    ['that is a link', () => symlinkSync(mkdtempSync(join(root, 'elsewhere-')), runtime())],
  ])('S255: is not in a folder %s, and a link into one is not followed', async (_, plant) => {
    plant();
    mkdirSync(join(root, 'shared'), { mode: 0o755 });
    storeFile = join(root, 'shared', 'postern.sqlite');
    let heard = 0;
    const impostor = createServer(connection => {
      heard += 1;
      connection.destroy();
    }).listen(join(runtime(), 'x.sock'));
    writeLink(storeFile, { socket: join(runtime(), 'x.sock'), key: newNonce() });
    expect(await findLocalGateway(storeFile, system)).toBeUndefined();
    expect(heard).toBe(0);
    impostor.close();
    const server = await start();
    const folder = dirname(socket());
    expect([folder.startsWith(runtime()), lstatSync(folder).mode & 0o777]).toEqual([false, 0o700]);
    using found = await findLocalGateway(storeFile, system);
    expect(found).toBeDefined();
    await server[Symbol.asyncDispose]();
    expect(existsSync(folder)).toBe(false);
  });

  test.each([
    ['the socket', () => rmSync(socket())],
    ['its folder', () => rmSync(dirname(socket()), { recursive: true })],
    ['the link', () => rmSync(linkFileOf(storeFile))],
    ['the key in the link', () => writeLink(storeFile, { socket: socket(), key: newNonce() })],
    ['the privacy of the folder', () => chmodSync(dirname(socket()), 0o755)],
  ])('is made again when %s has gone', async (_, lose) => {
    mkdirSync(join(root, 'shared'), { mode: 0o755 });
    storeFile = join(root, 'shared', 'postern.sqlite');
    await start();
    using before = await findLocalGateway(storeFile, system);
    lose();
    expect(await findLocalGateway(storeFile, system).catch(() => undefined)).toBeUndefined();
    await look();
    using found = await findLocalGateway(storeFile, system);
    expect(await found?.ask(stop, stoppedSchema)).toEqual({ stopped: true });
    expect(await before?.ask(stop, stoppedSchema)).toEqual({ stopped: true });
  });

  test.each([
    ['been removed with its folder', () => rmSync(dirname(storeFile), { recursive: true })],
    ['been removed', () => rmSync(storeFile)],
    [
      'lost its folder to a file',
      () => {
        rmSync(dirname(storeFile), { recursive: true });
        writeFileSync(dirname(storeFile), '');
      },
    ],
    [
      'been replaced',
      () => {
        writeFileSync(`${storeFile}.new`, '');
        renameSync(`${storeFile}.new`, storeFile);
      },
    ],
  ])('says when the store has %s, and makes nothing in its place', async (_, lose) => {
    mkdirSync(join(root, 'own'), { mode: 0o700 });
    storeFile = join(root, 'own', 'postern.sqlite');
    const store = createSqliteStores({ path: storeFile, now: Date.now });
    stack.open.defer(() => store.close());
    stores = store;
    const server = await start();
    await look();
    expect(gone).toBe(0);
    lose();
    const left = existsSync(dirname(storeFile));
    await look();
    await server[Symbol.asyncDispose]();
    expect([gone, existsSync(dirname(storeFile)), existsSync(linkFileOf(storeFile))]).toEqual([1, left, false]);
  });

  test('leaves nothing of a caller that has gone', async () => {
    let signal = new AbortController().signal;
    await start(async (_, line, stopping) => {
      signal = stopping;
      line.send({ answer: { stopped: true } });
    });
    const ask = async () => {
      using found = await findLocalGateway(storeFile, system);
      await found?.ask(stop, stoppedSchema);
    };
    await ask();
    const before = getEventListeners(signal, 'abort').length;
    for (let callers = 0; callers < 3; callers += 1) {
      (await findLocalGateway(storeFile, system))?.[Symbol.dispose]();
      await raw('x\n').catch(() => '');
    }
    await ask();
    await vi.waitFor(() => expect(getEventListeners(signal, 'abort')).toHaveLength(before));
  });

  test('that does not answer is named by its process, and no error of the system reaches the caller', async () => {
    const silent = createServer(() => {}).listen(socket());
    await once(silent, 'listening');
    writeLink(storeFile, { socket: socket(), key: newNonce(), pid: 4_711 });
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const finding = findLocalGateway(storeFile, system);
    const refused = expect(finding).rejects.toMatchObject({
      code: 'timeout',
      message: expect.stringContaining('process 4711'),
    });
    await once(silent, 'connection');
    await vi.advanceTimersByTimeAsync(10_000);
    await refused;
    vi.useRealTimers();
    silent.close();
    const error = { name: LocalError.name, code: 'not_private' };
    await expect(findLocalGateway(join(import.meta.filename, 'x'), system)).rejects.toMatchObject(error);
    writeLink(storeFile, { socket: join(root, 's'.repeat(130)), key: newNonce() });
    await expect(findLocalGateway(storeFile, system)).rejects.toMatchObject({ name: LocalError.name });
  });

  test('names a link file that cannot be replaced', async () => {
    mkdirSync(linkFileOf(storeFile));
    await expect(start()).rejects.toThrow(linkFileOf(storeFile));
    expect(existsSync(join(root, 'postern'))).toBe(false);
  });

  test('tells a caller too many that it runs', async () => {
    await start();
    const open = Array.from({ length: 256 }, () => connect(socket()));
    await Promise.all(open.map(each => once(each, 'connect')));
    await expect(findLocalGateway(storeFile, system)).rejects.toMatchObject({ code: 'busy' });
    for (const each of open) each.destroy();
  });

  test('S255: nothing that does not know the key is taken for the gateway', async () => {
    const heard: string[] = [];
    const impostor = createServer(connection => {
      connection.setEncoding('utf8').on('data', (chunk: string) => {
        heard.push(chunk);
        const { nonce: caller } = z.object({ nonce: z.string() }).parse(JSON.parse(chunk));
        const nonces = { caller, gateway: newNonce() };
        connection.write(
          `${JSON.stringify({ nonce: nonces.gateway, proof: proofOf('guess', 'gateway', nonces), version: '9' })}\n`,
        );
      });
    }).listen(socket());
    await once(impostor, 'listening');
    writeLink(storeFile, { socket: socket(), key: newNonce() });
    await expect(findLocalGateway(storeFile, system)).rejects.toMatchObject({ code: 'not_the_gateway' });
    expect(heard).toHaveLength(1);
    impostor.close();
  });

  test('S255: a caller that does not know the key is not served, not even with the proof of the gateway', async () => {
    let served = 0;
    await start(async () => {
      served += 1;
    });
    const connection = connect(socket()).setEncoding('utf8');
    const caller = newNonce();
    connection.write(`${JSON.stringify({ nonce: caller })}\n`);
    const [welcome] = (await connection.iterator({ destroyOnReturn: false }).next()).value.split('\n');
    const { proof, nonce } = z.object({ proof: z.string(), nonce: z.string() }).parse(JSON.parse(welcome));
    expect(proof).toBe(proofOf(readLink(storeFile, system)?.key ?? '', 'gateway', { caller, gateway: nonce }));
    connection.write(`${JSON.stringify({ proof, request: stop })}\n`);
    expect(await text(connection)).toBe('');
    expect(served).toBe(0);
    expect(warned).toEqual([expect.objectContaining({ event: 'local.refused' })]);
  });

  test.each([
    ['no JSON', ['x\n']],
    ['another message', ['{"nonce":1}\n']],
    ['a long message', [`"${'x'.repeat(MAX_MESSAGE)}"\n`]],
    ['a message without an end', ['x'.repeat(MAX_MESSAGE + 1)]],
  ])('ends a connection with %s, and serves the next one', async (_, messages) => {
    await start();
    expect(await raw(...messages).catch(() => '')).toBe('');
    using found = await findLocalGateway(storeFile, system);
    expect(await found?.ask(stop, stoppedSchema)).toEqual({ stopped: true });
  });

  test('answers a refusal with its code, and survives an operation that fails', async () => {
    let calls = 0;
    await start(async (_, line) => {
      calls += 1;
      if (calls === 2) throw new Error('canary');
      line.send({ refused: { code: 'name_taken', message: 'another one' } });
    });
    const ask = async () => {
      using found = await findLocalGateway(storeFile, system);
      return await found?.ask({ operation: 'status' }, localStatusSchema);
    };
    await expect(ask()).rejects.toMatchObject({ name: LocalRefusal.name, code: 'name_taken' });
    await expect(ask()).rejects.toMatchObject({ code: 'closed' });
    await expect(ask()).rejects.toMatchObject({ code: 'name_taken' });
    expect(JSON.stringify(warned)).not.toContain('canary');
  });
});

describe('a command in the gateway', () => {
  let config: string;
  beforeEach(() => {
    config = join(root, 'postern.config.yaml');
    // Its caller finds the store by it, and reads nothing else.
    writeFileSync(config, JSON.stringify({ store: { file: 'postern.sqlite' }, broken: '${env:MISSING}' }));
  });

  const said: string[] = [];
  function io(p: Partial<CliIo> = {}): CliIo {
    said.length = 0;
    const note = (stream: string) => (text: string) => void said.push(`${stream}: ${text}`);
    const signal = new AbortController().signal;
    return { env: { SECRET: 'canary' }, out: note('out'), err: note('err'), isTerminal: false, signal, ...p };
  }
  const serving = (run: (args: readonly string[], io: CliIo) => Promise<number>, version?: string) =>
    start(async (request, line, stopping) => {
      if (request.operation === 'command') await serveCommand(request, line, { run, stopping });
    }, version);

  test('S254: has streams, questions, files and exit code of its caller, and nothing of its environment', async () => {
    await serving(async (args, { env, out, err, ask, files, isTerminal }) => {
      out(`${args.join(' ')} ${JSON.stringify(env)} ${isTerminal}`);
      err((await ask?.('Sure?')) ?? 'no answer');
      const write = await files?.create('new.key');
      await write?.('written');
      out((await files?.read('-')) ?? '');
      out('x'.repeat(200_000));
      // JSON makes these six times as long.
      err('\u001b'.repeat(MAX_TEXT));
      return 1;
    });
    const written: string[] = [];
    const given = io({
      isTerminal: true,
      ask: async question => `${question} yes`,
      files: {
        read: async path => `text of ${path}`,
        create: async path => async text => void written.push(`${path}: ${text}`),
      },
    });
    expect(await runInGateway(['vault', 'status'], config, given)).toBe(1);
    expect(written).toEqual(['new.key: written']);
    expect(said.slice(0, 3)).toEqual(['out: vault status {} true', 'err: Sure? yes', 'out: text of -']);
    const rest = said.slice(3).join('');
    expect([rest.match(/x/g)?.length, rest.split('\u001b').length - 1]).toEqual([200_000, MAX_TEXT]);
  });

  test('of any length is run, or refused in a sentence', async () => {
    await serving(async args => args.length);
    const fill = (count: number, length: number) => Array.from({ length: count }, () => 'x'.repeat(length));
    expect(await runInGateway(fill(1, 9_000), config, io())).toBe(1);
    for (const args of [fill(1, MAX_TEXT + 1), fill(1_001, 1), fill(40, 20_000)])
      await expect(runInGateway(args, config, io())).rejects.toThrow(CliError);
    const files = { read: async () => 'x'.repeat(MAX_TEXT + 1), create: () => Promise.reject(new Error()) };
    await serving(async (_, { files: ofCaller }) => {
      await expect(ofCaller?.read('large')).rejects.toThrow('large is longer than 65536 characters.');
      return 0;
    });
    expect(await runInGateway(['read'], config, io({ files }))).toBe(0);
  });

  test('learns what its caller cannot do, that it was interrupted, and that its caller has gone', async () => {
    const { promise: gone, resolve } = Promise.withResolvers<unknown>();
    await serving(async ([first], { files, ask, signal }) => {
      expect(ask).toBeUndefined();
      if (first === 'read') await files?.read('nowhere').catch((error: Error) => resolve(error));
      else {
        await new Promise(done => signal.addEventListener('abort', done));
        resolve('interrupted');
      }
      return 130;
    });
    const files = { read: () => Promise.reject(new CliError('no file')), create: () => Promise.reject(new Error()) };
    expect(await runInGateway(['read'], config, io({ files }))).toBe(130);
    expect(await gone).toEqual(new CliError('no file'));
    expect(await runInGateway(['wait'], config, io({ signal: AbortSignal.abort() }))).toBe(130);
    using found = await findLocalGateway(storeFile, system);
    const line = found?.begin({ operation: 'command', args: ['wait'], isTerminal: false, answers: false });
    line?.[Symbol.dispose]();
  });

  test('is never run by its caller as well, says another version, and ends with the gateway', async () => {
    expect(await runInGateway(['find'], config, io())).toBeUndefined();
    let runs = 0;
    const { promise: began, resolve } = Promise.withResolvers<void>();
    const server = await serving(async ([first], { signal }) => {
      runs += 1;
      if (first === 'fail') throw new Error('canary');
      resolve();
      await new Promise(done => signal.addEventListener('abort', done));
      return 130;
    }, '0.0.1');
    await expect(runInGateway(['fail'], config, io())).rejects.toThrow(CliError);
    expect(said.join()).toContain('0.0.1');
    const waiting = runInGateway(['wait'], config, io());
    await began;
    await server[Symbol.asyncDispose]();
    expect(await waiting).toBe(130);
    expect(runs).toBe(2);
    expect(JSON.stringify(warned)).not.toContain('canary');
  });
});
