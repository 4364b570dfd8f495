import { once } from 'node:events';
import { chmodSync, lstatSync, rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import {
  folderFault,
  helloSchema,
  isProof,
  LocalError,
  type LocalOperation,
  linkFileOf,
  MessageLine,
  newNonce,
  proofOf,
  readLink,
  requestSchema,
  type SocketPlace,
  type System,
  socketPlaces,
  thisSystem,
  writeLink,
} from '@postern/api/local';
import type { Stores } from '@postern/elicitation';
import type { Logger } from '../platform/logger.ts';
import { periodic } from '../platform/periodic.ts';
import { StartError } from '../platform/start-error.ts';

/** Of one person: each MCP server that runs has one. */
const MAX_CONNECTIONS = 256;
/** Time in which a caller must have said what it wants, in ms. */
const REQUEST_MS = 10_000;
/** How often it looks whether a caller still finds it, in ms. */
const LOOK_MS = 3_000;
/** How long commands in progress have to end after they were interrupted, in ms. */
const FINISH_MS = 5_000;

export interface LocalServerOptions {
  readonly storeFile: string;
  readonly version: string;
  readonly logger: Pick<Logger, 'info' | 'warn'>;
  /** Does the operation and answers on the line. Ends soon after the signal aborts. */
  readonly serve: (request: LocalOperation, line: MessageLine, stopping: AbortSignal) => Promise<void>;
  readonly stores: Pick<Stores, 'ping' | 'refusals'>;
  /** Called once, when the file of the store has been removed or replaced. */
  readonly onStoreGone: () => void;
  readonly system?: System;
  /** Tests call back themselves. */
  readonly repeat?: typeof periodic;
}

/**
 * Listens for the owner of the store. Only the process that holds the store calls this, so a socket that is already there is left over
 * from a gateway that was killed. Listens anew when the socket or its link has gone: folders for temporary files are cleaned. When the
 * file of the store has gone, it makes nothing in its place.
 * @throws StartError
 */
export async function startLocalServer(p: LocalServerOptions): Promise<AsyncDisposable> {
  const { storeFile, system = thisSystem(), repeat = periodic } = p;
  const key = newNonce();
  const stopping = new AbortController();
  const callers = new Map<Socket, Promise<void>>();
  const serve = (socket: Socket) => {
    if (callers.size >= MAX_CONNECTIONS) {
      socket
        .on('error', () => {})
        .resume()
        .end('{"busy":true}\n');
      return;
    }
    const served = answer(socket, { ...p, key, stopping: stopping.signal })
      // One caller never ends the gateway.
      .catch((error: unknown) => p.logger.warn({ event: 'local.failed', error }, 'a local caller got no answer'))
      .finally(() => callers.delete(socket));
    callers.set(socket, served);
  };
  const open = async (): Promise<Listener> => {
    const listener = await listen(storeFile, system, serve);
    try {
      writeLink(storeFile, { socket: listener.path, key, pid: process.pid });
      return listener;
    } catch (error) {
      listener.close();
      throw startErrorOf(error, linkFileOf(storeFile));
    }
  };
  let listener = await open();
  let hasFailed = false;
  const reopen = async () => {
    // First: closing removes what has the name of the socket.
    listener.close();
    try {
      listener = await open();
      hasFailed = false;
      p.logger.info({ event: 'local.made_again' }, 'the local socket has been made again');
    } catch (error) {
      if (!hasFailed) p.logger.warn({ event: 'local.lost', error }, 'the local socket has gone');
      hasFailed = true;
    }
  };
  const looking = repeat({
    every: LOOK_MS,
    async run() {
      if (await isGone(p.stores)) {
        void looking.stop();
        p.onStoreGone();
      } else if (!isFound(listener, { storeFile, system, key })) await reopen();
    },
  });
  return {
    async [Symbol.asyncDispose]() {
      await looking.stop();
      // First, so that a caller that comes now finds no gateway. A link that stays leads nowhere.
      try {
        rmSync(linkFileOf(storeFile), { force: true });
      } catch (error) {
        p.logger.warn({ event: 'local.link_left', error }, 'the link to the local socket cannot be removed');
      }
      listener.close();
      stopping.abort();
      await Promise.race([Promise.all(callers.values()), delay(FINISH_MS, undefined, { ref: false })]);
      for (const socket of callers.keys()) socket.destroy();
    },
  };
}

interface Listener extends SocketPlace {
  readonly close: () => void;
}

/** At the first place that takes a socket: some file systems have none. */
async function listen(storeFile: string, system: System, serve: (socket: Socket) => void): Promise<Listener> {
  let failure: unknown = new StartError('No folder takes the local socket: set XDG_RUNTIME_DIR to one of your own.');
  for (const place of socketPlaces(storeFile, system)) {
    const server = createServer(serve);
    const close = () => {
      server.close();
      if (place.isTemporary && place.folder !== undefined) rmSync(place.folder, { recursive: true, force: true });
    };
    try {
      if (place.folder !== undefined) rmSync(place.path, { force: true });
      await listening(server, place.path);
      if (place.folder !== undefined) chmodSync(place.path, 0o600);
      return { ...place, close };
    } catch (error) {
      close();
      failure = startErrorOf(error, place.path);
    }
  }
  throw failure;
}

/** Whether a caller finds the listener. */
function isFound(
  { path, folder }: SocketPlace,
  p: { readonly storeFile: string; readonly system: System; readonly key: string },
): boolean {
  try {
    const link = readLink(p.storeFile, p.system);
    if (link?.key !== p.key || link.socket !== path) return false;
    if (folder === undefined) return true;
    return folderFault(folder, lstatSync(folder), p.system) === undefined && lstatSync(path).isSocket();
  } catch {
    return false;
  }
}

async function listening(server: Server, path: string): Promise<void> {
  server.listen({ path, readableAll: false, writableAll: false });
  await once(server, 'listening');
}

function startErrorOf(error: unknown, path: string): unknown {
  if (error instanceof LocalError) return new StartError(error.message);
  const code = error instanceof Error && 'code' in error ? String(error.code) : undefined;
  return code === undefined
    ? error
    : new StartError(`The gateway cannot listen at its local socket ${path} (${code}).`);
}

async function answer(
  socket: Socket,
  { key, stopping, ...p }: LocalServerOptions & { readonly key: string; readonly stopping: AbortSignal },
): Promise<void> {
  using line = new MessageLine(socket);
  const refuse = () => line[Symbol.dispose]();
  stopping.addEventListener('abort', refuse);
  let request: LocalOperation | undefined;
  try {
    request = await requested(line, p, key);
  } finally {
    stopping.removeEventListener('abort', refuse);
  }
  if (request === undefined || stopping.aborted) return;
  await p.serve(request, line, stopping);
  await line.end();
}

/** What a caller wants that knows the key. Undefined for any other, and for one that has gone. */
async function requested(
  line: MessageLine,
  { version, logger }: Pick<LocalServerOptions, 'version' | 'logger'>,
  key: string,
): Promise<LocalOperation | undefined> {
  const hello = await line.next(helloSchema, REQUEST_MS);
  if (hello === undefined) return undefined;
  const nonces = { caller: hello.nonce, gateway: newNonce() };
  line.send({ nonce: nonces.gateway, proof: proofOf(key, 'gateway', nonces), version });
  const message = await line.next(requestSchema, REQUEST_MS);
  if (message === undefined || isProof(message.proof, proofOf(key, 'caller', nonces))) return message?.request;
  logger.warn({ event: 'local.refused' }, 'a local caller did not know the key');
  return undefined;
}

/** The store looks for its file at each ping, and then goes on refusing. Any other refusal may pass. */
async function isGone(stores: LocalServerOptions['stores']): Promise<boolean> {
  await Promise.allSettled([stores.ping()]);
  return stores.refusals().includes('file_gone');
}
