import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { createConnection, type Socket } from 'node:net';
import { dirname } from 'node:path';
import { z } from 'zod/v4';
import { readLink } from './link.ts';
import { MessageLine } from './message-line.ts';
import {
  answerSchema,
  busySchema,
  LocalError,
  type LocalOperation,
  MAX_MESSAGE,
  requestSchema,
  welcomeSchema,
} from './messages.ts';
import { folderFault, listed } from './private-files.ts';
import { type System, thisSystem } from './system.ts';

const HELLO_MS = 10_000;
const ANSWER_MS = 15_000;

export const newNonce = (): string => randomBytes(32).toString('base64url');

interface Nonces {
  readonly caller: string;
  readonly gateway: string;
}

/** Shows knowledge of the key, for one connection and one direction. */
export const proofOf = (key: string, who: 'caller' | 'gateway', { caller, gateway }: Nonces): string =>
  createHmac('sha256', key).update(`postern/local/v1\n${who}\n${caller}\n${gateway}`).digest('base64url');

export function isProof(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)];
  return a.length === b.length && timingSafeEqual(a, b);
}

/** A gateway that has proved to be that of the store. */
export interface LocalGateway extends Disposable {
  /** Of the gateway. */
  readonly version: string;
  /** Begins the one operation of the connection. Its messages follow on the line. @throws LocalError `bad_message` */
  begin(operation: LocalOperation): MessageLine;
  /** Does an operation that has one answer. @throws LocalError, LocalRefusal */
  ask<T>(operation: LocalOperation, schema: z.ZodType<T>): Promise<T>;
  /** Resolves when the gateway ends, which finds no new caller then. Called after `ask`. */
  ended(): Promise<void>;
  /** The connection keeps this process no longer alive. */
  unref(): void;
}

/** The gateway refused an operation. */
export class LocalRefusal extends Error {
  override readonly name = 'LocalRefusal';
  readonly code: string;

  constructor({ code, message }: { readonly code: string; readonly message: string }) {
    super(message);
    this.code = code;
  }
}

/**
 * Connects to the gateway that holds a store. Undefined if none runs.
 * @throws LocalError if other users could be at the other end, or something else than the gateway is
 */
export async function findLocalGateway(
  storeFile: string,
  system: System = thisSystem(),
): Promise<LocalGateway | undefined> {
  const link = readLink(storeFile, system);
  if (link === undefined) return undefined;
  const named = link.pid === undefined ? 'The gateway' : `The gateway (process ${link.pid})`;
  const inTime = async <T>(answered: Promise<T>): Promise<T> => {
    try {
      return await answered;
    } catch (error) {
      if (!(error instanceof LocalError && error.code === 'timeout')) throw error;
      throw new LocalError('timeout', `${named} does not answer. If it hangs, end that process.`);
    }
  };
  const socket = await inTime(connected(link.socket, system));
  if (socket === undefined) return undefined;
  const line = new MessageLine(socket);
  const caller = newNonce();
  line.send({ nonce: caller });
  const welcome = await inTime(line.next(z.union([welcomeSchema, busySchema]), HELLO_MS)).catch((error: unknown) => {
    line[Symbol.dispose]();
    throw error;
  });
  // A gateway that ends closes the connections that it has not greeted.
  if (welcome === undefined) return undefined;
  if ('busy' in welcome) {
    line[Symbol.dispose]();
    throw new LocalError('busy', 'The gateway has too many callers. Close MCP servers that you do not need.');
  }
  const nonces = { caller, gateway: welcome.nonce };
  if (!isProof(welcome.proof, proofOf(link.key, 'gateway', nonces))) {
    line[Symbol.dispose]();
    throw new LocalError('not_the_gateway', 'Something else than the gateway listens at its socket.');
  }
  const begin = (operation: LocalOperation) => {
    const { data } = requestSchema.safeParse({ proof: proofOf(link.key, 'caller', nonces), request: operation });
    if (data === undefined || JSON.stringify(data).length > MAX_MESSAGE)
      throw new LocalError('bad_message', 'The running gateway takes no command of this length.');
    line.send(data);
    return line;
  };
  return {
    version: welcome.version,
    begin,
    async ask(request, schema) {
      const answer = await inTime(begin(request).next(answerSchema, ANSWER_MS));
      if (answer === undefined) throw new LocalError('closed', 'The gateway has ended before it answered.');
      if ('refused' in answer) throw new LocalRefusal(answer.refused);
      return schema.parse(answer.answer);
    },
    unref: () => line.unref(),
    async ended() {
      // The kernel ends the connection however the gateway ends.
      await line.next(z.never()).catch(() => undefined);
      line[Symbol.dispose]();
    },
    [Symbol.dispose]: () => line[Symbol.dispose](),
  };
}

/** Errors of connecting that mean: nothing listens there. */
const NOT_THERE: ReadonlySet<unknown> = new Set(['ENOENT', 'ECONNREFUSED', 'ECONNRESET', 'ENOTSOCK']);

async function connected(path: string, system: System): Promise<Socket | undefined> {
  if (system.platform !== 'win32') {
    const folder = dirname(path);
    const stats = listed(folder);
    if (stats === undefined) return undefined;
    // No gateway listens in such a folder: the link is left over, and others may have taken the place.
    if (folderFault(folder, stats, system) !== undefined) return undefined;
  }
  const socket = createConnection(path);
  const { promise, resolve, reject } = Promise.withResolvers<Socket | undefined>();
  const timer = setTimeout(() => reject(new LocalError('timeout', 'The gateway does not answer.')), HELLO_MS);
  socket.once('connect', () => resolve(socket));
  socket.once('error', error => {
    const code = 'code' in error ? error.code : undefined;
    if (NOT_THERE.has(code)) resolve(undefined);
    else reject(new LocalError('unreachable', `The gateway cannot be reached at its local socket (${String(code)}).`));
  });
  try {
    return await promise;
  } catch (error) {
    socket.destroy();
    throw error;
  } finally {
    clearTimeout(timer);
  }
}
