import { type RedisServer, startRedis } from './redis-server.ts';

/** A server that waits for its next user, and its configuration as `startRedis()` left it. */
interface Idle {
  readonly server: RedisServer;
  readonly settings: string;
}

const idle: Idle[] = [];

/**
 * An empty Redis as `startRedis()` starts it, from a pool of this process: starting and ending a server takes longer than many test
 * files. A server that was killed, restarted or suspended, or whose configuration or users were changed, goes to no next user.
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
    // It does not answer: the next user gets another one.
    return false;
  }
}

async function settingsOf(server: RedisServer): Promise<string> {
  return [await server.ask('CONFIG', 'GET', '*'), await server.ask('ACL', 'LIST')].join('\n');
}
