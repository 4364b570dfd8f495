import { type RedisServer, startRedis } from './redis-server.ts';

/** An idle server, with its configuration after `startRedis()`. */
interface Idle {
  readonly server: RedisServer;
  readonly settings: string;
}

const idle: Idle[] = [];

/**
 * Leases an empty Redis from a pool of this process, because starting and ending a server takes longer than many test files. The
 * pool discards a server that was killed, restarted or suspended, or whose configuration or users were changed.
 */
export async function leaseRedis(): Promise<RedisServer> {
  const leased = idle.pop() ?? (await startFirst());
  const { server, settings } = leased;
  let isReusable = true;
  let isReturned = false;
  const spoil = (act: () => Promise<void>) => () => {
    isReusable = false;
    return act();
  };
  return {
    url: server.url,
    host: server.host,
    port: server.port,
    get pid() {
      return server.pid;
    },
    kill: spoil(server.kill),
    stop: spoil(server.stop),
    restart: spoil(server.restart),
    suspend() {
      isReusable = false;
      server.suspend();
    },
    resume: server.resume,
    ask: server.ask,
    async [Symbol.asyncDispose]() {
      if (isReturned) return;
      isReturned = true;
      if (isReusable && (await isLeftEmpty(server, settings))) idle.push(leased);
      else await server[Symbol.asyncDispose]();
    },
  };
}

async function startFirst(): Promise<Idle> {
  const server = await startRedis();
  return { server, settings: await settingsOf(server) };
}

async function isLeftEmpty(server: RedisServer, settings: string): Promise<boolean> {
  try {
    await server.ask('FLUSHALL');
    return (await settingsOf(server)) === settings;
  } catch {
    // The server does not respond, so it is discarded.
    return false;
  }
}

async function settingsOf(server: RedisServer): Promise<string> {
  return [await server.ask('CONFIG', 'GET', '*'), await server.ask('ACL', 'LIST')].join('\n');
}
