import { dirname, resolve } from 'node:path';
import {
  type CallerMessage,
  commandMessageSchema,
  findLocalGateway,
  LocalError,
  type LocalGateway,
  MAX_TEXT,
  type MessageLine,
} from '@postern/api/local';
import { z } from 'zod';
import { documentAt } from '../platform/config/load-config.ts';
import { storeConfigSchema } from '../platform/config/redis-config.ts';
import { packageVersion } from '../platform/package-version.ts';
import { CliError, type CliIo, type ExitCode, exitCodes, UsageError } from './cli-io.ts';
import { filesOf } from './private-files.ts';

const absent = z.undefined().optional();
const documentSchema = z.looseObject({
  redis: z.looseObject({ url: absent, cluster: absent, sentinel: absent }).optional(),
  store: storeConfigSchema.prefault({}),
});

/** The file of a configuration without Redis, of which nothing else is read. */
function storeFileIn(configPath: string, env: CliIo['env']): string | undefined {
  if (env['REDIS_URL']) return undefined;
  const { data } = documentSchema.safeParse(documentAt(configPath));
  return data && resolve(dirname(configPath), data.store.file);
}

/** The gateway that holds the store of a configuration. Undefined if none runs here. @throws CliError */
export async function gatewayOf(configPath: string, io: CliIo): Promise<LocalGateway | undefined> {
  const storeFile = storeFileIn(configPath, io.env);
  try {
    return storeFile === undefined ? undefined : await findLocalGateway(storeFile);
  } catch (error) {
    throw error instanceof LocalError ? new CliError(error.message) : error;
  }
}

/**
 * Runs a command in the gateway that holds the store: only one process can have it. Undefined if none runs, so that the command opens
 * the store itself. Once the gateway has the command, it never runs here as well.
 * @throws CliError
 */
export async function runInGateway(
  args: readonly string[],
  configPath: string,
  io: CliIo,
): Promise<ExitCode | undefined> {
  using gateway = await gatewayOf(configPath, io);
  if (gateway === undefined) return undefined;
  if (gateway.version !== packageVersion)
    io.err(
      `The running gateway has version ${gateway.version}, and runs the command; this is version ${packageVersion}.\n`,
    );
  const line = begun(gateway, args, io);
  const send = (message: CallerMessage) => line.send(message);
  const interrupt = () => send({ type: 'interrupt' });
  const unread = () => send({ type: 'unread' });
  // Aborted before: the gateway learns it too.
  if (io.signal.aborted) interrupt();
  if (io.unread?.aborted === true) unread();
  io.signal.addEventListener('abort', interrupt, { once: true });
  io.unread?.addEventListener('abort', unread, { once: true });
  try {
    return await followed(line, send, io);
  } catch (error) {
    throw error instanceof LocalError ? new CliError(error.message) : error;
  } finally {
    io.signal.removeEventListener('abort', interrupt);
    io.unread?.removeEventListener('abort', unread);
  }
}

/** @throws CliError */
function begun(gateway: LocalGateway, args: readonly string[], { isTerminal, ask }: CliIo): MessageLine {
  try {
    return gateway.begin({ operation: 'command', args: [...args], isTerminal, answers: ask !== undefined });
  } catch (error) {
    throw error instanceof LocalError ? new CliError(error.message) : error;
  }
}

/** Does for the command what only its caller can. */
async function followed(line: MessageLine, send: (message: CallerMessage) => void, io: CliIo): Promise<ExitCode> {
  const files = filesOf(io);
  let write: ((text: string) => Promise<void>) | undefined;
  const reply = async (id: number, work: () => Promise<unknown>, what = 'The answer') => {
    try {
      const text = await work();
      if (typeof text === 'string' && text.length > MAX_TEXT)
        throw new CliError(`${what} is longer than ${MAX_TEXT} characters.`);
      send({ type: 'reply', id, ...(typeof text === 'string' && { text }) });
    } catch (error) {
      if (!(error instanceof CliError || error instanceof UsageError)) throw error;
      send({ type: 'failed', id, message: error.message, isUsage: error instanceof UsageError });
    }
  };
  for (;;) {
    const message = await line.next(commandMessageSchema);
    if (message === undefined)
      throw new CliError('The gateway has ended before the command did. Look at what was done before you repeat it.');
    switch (message.type) {
      case 'out':
        io.out(message.text);
        break;
      case 'err':
        io.err(message.text);
        break;
      case 'ask':
        await reply(message.id, async () => io.ask?.(message.text));
        break;
      case 'read':
        await reply(message.id, () => files.read(message.path), message.path);
        break;
      case 'create':
        await reply(message.id, async () => {
          write = await files.create(message.path);
        });
        break;
      case 'write':
        await reply(message.id, async () => write?.(message.text));
        break;
      case 'exit':
        return Object.values(exitCodes).find(code => code === message.code) ?? exitCodes.failure;
    }
  }
}
