import { fork } from 'node:child_process';
import { once } from 'node:events';
import { createServer, request as forward, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { createCondition } from './condition.ts';

export interface McpServerProcessSettings {
  readonly sdk: 'v2' | 'v1';
  readonly gatewayUrl: string;
  readonly apiKey: string;
  readonly issuer: string;
  /** Redis for the shared state of the replicas. */
  readonly redisUrl: string;
  /** Whether the replicas share which session waits for which elicitation. */
  readonly shared: boolean;
}

/** One replica of an MCP server, in a separate process. */
export interface McpServerProcess extends AsyncDisposable {
  readonly port: number;
  /** Kills it like a crash. */
  kill(): Promise<void>;
}

const main = fileURLToPath(new URL('./mcp-server-main.ts', import.meta.url));

export async function startMcpServerProcess(settings: McpServerProcessSettings): Promise<McpServerProcess> {
  const child = fork(main, [JSON.stringify(settings)], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  const exited = once(child, 'exit');
  const kill = async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
    await exited;
  };
  const [message] = await Promise.race([
    once(child, 'message'),
    exited.then(([code]) => {
      throw new Error(`the MCP server exited with ${String(code)} before it listened`);
    }),
  ]);
  return { port: z.object({ port: z.int() }).parse(message).port, kill, [Symbol.asyncDispose]: kill };
}

/** An HTTP load balancer without affinity. */
export interface RequestBalancer extends AsyncDisposable {
  readonly url: URL;
  /** Index of the replica with the most recently opened stream. */
  readonly streamAt: number;
  /** Routes all requests to this replica; undefined: round robin. */
  lead(replica: number | undefined): void;
  /** Resolves when this many streams have been opened. */
  untilStreams(count: number): Promise<void>;
}

export async function startRequestBalancer(replicas: readonly McpServerProcess[]): Promise<RequestBalancer> {
  let turn = 0;
  let led: number | undefined;
  let streamAt = -1;
  let streams = 0;
  const opened = createCondition();

  function pass(near: IncomingMessage, answer: ServerResponse): void {
    turn += 1;
    const to = led ?? turn % replicas.length;
    const far = forward(
      {
        host: '127.0.0.1',
        port: replicas[to]?.port,
        path: near.url,
        method: near.method,
        headers: near.headers,
        agent: false,
      },
      incoming => {
        answer.writeHead(incoming.statusCode ?? 502, incoming.headers);
        answer.flushHeaders();
        if (near.method === 'GET' && incoming.statusCode === 200) {
          streamAt = to;
          streams += 1;
          opened.notify();
        }
        // A killed replica drops its responses.
        incoming.on('error', () => answer.destroy());
        incoming.pipe(answer);
      },
    );
    far.on('error', () => answer.destroy());
    answer.on('close', () => far.destroy());
    near.pipe(far);
  }

  const listener = createServer(pass).listen(0, '127.0.0.1');
  await once(listener, 'listening');
  return {
    url: new URL(`http://127.0.0.1:${(listener.address() as AddressInfo).port}/mcp`),
    get streamAt() {
      return streamAt;
    },
    lead(replica) {
      led = replica;
    },
    untilStreams: count => opened.until(() => streams >= count),
    async [Symbol.asyncDispose]() {
      const closed = once(listener, 'close');
      listener.close();
      listener.closeAllConnections();
      await closed;
    },
  };
}
