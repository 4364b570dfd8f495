import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { Duplex } from 'node:stream';

/**
 * Connections to a collector of traces. Closes a connection whose response is not complete in time. The exporter itself detects only
 * silence, so a collector with a slow response body would keep one more connection open after every export.
 */
export function createExportAgent(protocol: string, timeoutMs: number): HttpAgent {
  const agent = protocol === 'http:' ? new HttpAgent({ keepAlive: true }) : new HttpsAgent({ keepAlive: true });
  const deadlines = new WeakMap<Duplex, NodeJS.Timeout>();
  const begin = (socket: Duplex) => {
    const deadline = setTimeout(() => socket.destroy(), timeoutMs);
    deadlines.set(socket, deadline.unref());
  };
  const { createConnection, keepSocketAlive, reuseSocket } = agent;
  return Object.assign(agent, {
    createConnection(...p: Parameters<typeof createConnection>) {
      const socket = createConnection.apply(agent, p);
      if (socket) begin(socket);
      return socket;
    },
    keepSocketAlive(...p: Parameters<typeof keepSocketAlive>) {
      clearTimeout(deadlines.get(p[0]));
      return keepSocketAlive.apply(agent, p);
    },
    reuseSocket(...p: Parameters<typeof reuseSocket>) {
      begin(p[0]);
      reuseSocket.apply(agent, p);
    },
  });
}
