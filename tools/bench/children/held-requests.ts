/** The floor of a waiting read: a bare server of Node.js that holds every request and never responds. */
import { createServer } from 'node:http';

if (import.meta.main) {
  const port = Number(process.argv[2]);
  const kind = process.argv[3];
  const kept = new Set<object>();
  const httpServer = createServer({ keepAliveTimeout: 75_000, headersTimeout: 10_000 }, (request, response) => {
    if (request.url === '/readyz') return response.end('{}');
    kept.add(response);
    response.once('close', () => kept.delete(response));
    if (kind === 'events') response.writeHead(200, { 'content-type': 'text/event-stream' }).write(':\n\n');
    return response;
  });
  httpServer.timeout = 90_000;
  httpServer.listen({ port, host: '127.0.0.1', backlog: 4_096 }, () => process.send?.({ ready: true }));
  process.once('SIGTERM', () => process.exit(0));
}
