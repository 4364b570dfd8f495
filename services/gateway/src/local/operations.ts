import { createHash, createHmac } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import {
  type Joined,
  type LocalOperation,
  LocalRefusal,
  type LocalStatus,
  type MessageLine,
  PERSON,
} from '@postern/api/local';
import { z } from 'zod';
import { CliError, type CliIo, type HeldStore } from '../cli/cli-io.ts';
import { approvedPayments } from '../cli/dev/dev-options.ts';
import { apiKeyHash } from '../mcp-servers/api-keys.ts';
import type { GatewayConfig } from '../platform/config/config-schema.ts';
import { sharedKeyFor } from '../platform/config/vault-config.ts';
import type { Logger } from '../platform/logger.ts';
import type { Activity } from './activity.ts';
import { serveCommand } from './remote-command.ts';

export interface OperationsOptions {
  readonly gateway: {
    /** Of the configuration in force. */
    readonly deps: HeldStore;
    reload(load: () => GatewayConfig): Promise<unknown>;
  };
  readonly activity: Activity;
  readonly version: string;
  readonly configPath: string;
  readonly storeFile: string;
  readonly logFile?: string | undefined;
  /** Whether MCP servers of this person may register themselves. */
  readonly isPersonal: boolean;
  readonly load: () => GatewayConfig;
  readonly env: NodeJS.ProcessEnv;
  readonly logger: Pick<Logger, 'warn'>;
  /** Runs a command of operators. */
  readonly runCli: (args: readonly string[], io: CliIo) => Promise<number>;
  /** Begins to stop the process, after the answer was sent. */
  readonly stop: (why: 'taken_over' | 'local') => void;
}

/** What the gateway does over its local socket, by name. */
export function createOperations(p: OperationsOptions) {
  const { gateway, activity } = p;
  /** Running MCP servers. */
  const joined = new Map<object, string>();
  const join = createJoin(p);

  const status = async (): Promise<LocalStatus> => ({
    version: p.version,
    pid: process.pid,
    url: gateway.deps.config.publicUrl,
    config: p.configPath,
    store: p.storeFile,
    openAsks: await activity.openAsks(),
    console: gateway.deps.config.console?.publicUrl,
    log: p.logFile,
    idleSince: new Date(activity.lastAt).toISOString(),
    mcpServers: [...new Set(joined.values())].sort(),
  });

  return async (request: LocalOperation, line: MessageLine, stopping: AbortSignal): Promise<void> => {
    const answer = (value: unknown) => line.send({ answer: value });
    switch (request.operation) {
      case 'command': {
        using work = activity.begin();
        if (work === undefined) return;
        return await serveCommand(request, line, {
          run: (args, io) => p.runCli(args, { ...io, store: gateway.deps }),
          stopping,
        });
      }
      case 'join': {
        using joining = activity.begin();
        if (joining === undefined) return;
        const result = await join(request.name).catch((error: unknown) => {
          if (error instanceof LocalRefusal) return error;
          throw error;
        });
        if (result instanceof LocalRefusal)
          return line.send({ refused: { code: result.code, message: result.message } });
        answer(result);
        joining[Symbol.dispose]();
        joined.set(line, result.mcpServerId);
        // The line stays: its end tells either side that the other has gone.
        await endOrAbort(line, stopping);
        joined.delete(line);
        return;
      }
      case 'status':
        return answer(await status());
      case 'stop': {
        const stopped = !request.ifIdle || (await activity.endIfIdle());
        answer({ stopped });
        if (!stopped) return;
        p.stop(request.ifIdle ? 'taken_over' : 'local');
        // The end of the line tells the caller that no other caller finds this gateway any more.
        return await endOrAbort(line, stopping);
      }
    }
  };
}

/** Resolves when the caller has gone, or the signal has aborted. */
async function endOrAbort(line: MessageLine, signal: AbortSignal): Promise<void> {
  using waiting = new DisposableStack();
  const over = new AbortController();
  waiting.defer(() => over.abort());
  const aborted = signal.aborted || once(signal, 'abort', { signal: over.signal }).catch(() => undefined);
  await Promise.race([line.next(z.never()).catch(() => undefined), aborted]);
}

/** Registered MCP servers of one person. Programs of this user could add any number. */
const MAX_MCP_SERVERS = 200;
/** Another command may be editing the configuration. */
const EDIT_TRIES = 20;
const EDIT_AGAIN_MS = 100;

/** A refusal reaches an MCP client, which gets no path of this machine. */
const notRegistered = (what: string) =>
  new LocalRefusal({
    code: 'not_registered',
    message: `Your personal gateway ${what}: its log says why. \`npx @postern/gateway status\` prints where that is.`,
  });

/** Registers an MCP server by its name, once, and returns how it reaches the gateway. One at a time. */
function createJoin(p: OperationsOptions): (name: string) => Promise<Joined> {
  let last: Promise<unknown> = Promise.resolve();

  async function join(name: string): Promise<Joined> {
    if (!p.isPersonal)
      throw new LocalRefusal({ code: 'not_personal', message: 'This gateway is not the personal one.' });
    const id = mcpServerIdOf(name);
    const apiKey = apiKeyFor(p.gateway.deps.config, id);
    if (!isRegistered(p.gateway.deps.config, id, apiKey)) await register(id, name, apiKey);
    return { url: p.gateway.deps.config.publicUrl, apiKey, mcpServerId: id };
  }

  async function register(id: string, name: string, apiKey: string): Promise<void> {
    const { mcpServers, providers } = p.gateway.deps.config;
    if (mcpServers.length >= MAX_MCP_SERVERS)
      throw new LocalRefusal({
        code: 'too_many',
        message: `Your personal gateway has ${MAX_MCP_SERVERS} MCP servers.`,
      });
    const { addEntry } = await import('../cli/mcp-servers-add.ts');
    const entry = {
      id,
      name,
      url: 'http://localhost',
      apiKeys: [{ hash: apiKeyHash(apiKey) }],
      issuers: [PERSON.issuer],
      identity: { mode: 'loopback' as const },
      providers: providers.map(provider => provider.name),
      payment: approvedPayments,
    };
    for (let tries = 1; ; tries += 1) {
      try {
        addEntry(p.configPath, entry, p.env);
        break;
      } catch (error) {
        if (!(error instanceof CliError)) throw error;
        if (tries === EDIT_TRIES) {
          p.logger.warn({ event: 'local.not_registered', reason: error.message }, 'an MCP server was not registered');
          throw notRegistered('cannot add this MCP server to its configuration');
        }
        await delay(EDIT_AGAIN_MS);
      }
    }
    await p.gateway.reload(p.load);
    if (!isRegistered(p.gateway.deps.config, id, apiKey)) throw notRegistered('refused its configuration');
  }

  return name => {
    const joining = last.then(() => join(name));
    last = joining.catch(() => undefined);
    return joining;
  };
}

/** Throws for an entry of the owner's own under this id: it is another MCP server. @throws LocalRefusal */
function isRegistered(config: GatewayConfig, id: string, apiKey: string): boolean {
  const entry = config.mcpServers.find(each => each.id === id);
  if (entry === undefined) return false;
  if (entry.identity.mode === 'loopback' && entry.apiKeys.some(({ hash }) => hash === apiKeyHash(apiKey))) return true;
  const isOfOwner = entry.identity.mode !== 'loopback' || entry.apiKeys.length === 0;
  const why = isOfOwner
    ? `"${id}" is the id of another entry. Change the id of that entry, or the name of this MCP server.`
    : `The entry "${id}" has an API key that this gateway did not give this MCP server, as under another vault key. Remove that entry.`;
  throw new LocalRefusal({ code: 'name_taken', message: `In the configuration of your personal gateway: ${why}` });
}

/** An id of the configuration. Different names have different ids: a connection belongs to one MCP server. @internal */
export function mcpServerIdOf(name: string): string {
  // A name that looks like an id with a digest gets one too: it could be the id of another name.
  if (/^[a-z0-9][a-z0-9-]{0,39}$/.test(name) && !/-[0-9a-f]{8}$/.test(name)) return name;
  const digest = createHash('sha256').update(name).digest('hex').slice(0, 8);
  const words = name.toLowerCase().match(/[a-z0-9]+/g) ?? [];
  return `${words.join('-').slice(0, 31).replace(/-$/, '')}-${digest}`;
}

/** Derived, so that the gateway keeps only its hash, and returns the same key after a restart. */
const apiKeyFor = (config: GatewayConfig, id: string): string =>
  `pk_${createHmac('sha256', sharedKeyFor(config, 'postern/local/api-key/v1')).update(id).digest('base64url')}`;
