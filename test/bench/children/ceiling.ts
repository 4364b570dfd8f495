/**
 * The ceiling for one gateway process: fastify without plugins or checks, which sends the gateway's Redis command for each request.
 * Argument: a JSON file with the address of Redis and the commands.
 */
import { readFileSync } from 'node:fs';
import Fastify from 'fastify';
import { Redis } from 'ioredis';
import { filled } from '../support/captured-command.ts';
import type { CeilingSettings } from '../support/ceiling.ts';

const settings = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')) as CeilingSettings;
const { issue, readConnection } = settings;
const redis = new Redis(settings.redisUrl, { enableAutoPipelining: true });
const app = Fastify();

app.post('/issue', async (_request, reply) => {
  if (issue === undefined) return reply.callNotFound();
  const answer = await redis.call(issue.name, filled(issue));
  if (!Array.isArray(answer) || answer[0] !== 'created') throw new Error('no record was created');
  return reply.code(201).send({ createdAt: answer[1], expiresAt: answer[2] });
});

app.post<{ Params: { connectionId: string } }>('/access-token/:connectionId', async (request, reply) => {
  if (readConnection === undefined) return reply.callNotFound();
  const { connectionId } = request.params;
  const answer = await redis.call(readConnection.name, filled(readConnection, connectionId));
  if (!Array.isArray(answer) || typeof answer[3] !== 'string') throw new Error('the connection does not exist');
  return { record: answer[3].slice(0, 160) };
});

const address = await app.listen({ host: '127.0.0.1', port: 0 });
process.once('SIGTERM', () => process.exit(0));
process.send?.({ port: Number(new URL(address).port) });
