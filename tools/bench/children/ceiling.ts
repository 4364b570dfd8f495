/**
 * The ceiling for one gateway process: fastify without plugins or checks, which sends the gateway's Redis command for each request. Below
 * `/checked`, the handlers also authenticate, validate, log and answer completely, as any gateway must.
 * Argument: a JSON file with the address of Redis and the commands.
 */
import { readFileSync } from 'node:fs';
import Fastify from 'fastify';
import { Redis } from 'ioredis';
import { filled } from '../support/captured-command.ts';
import type { CeilingSettings } from '../support/ceiling.ts';
import { createChecks } from './checks.ts';

const settings = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')) as CeilingSettings;
const { issue, readConnection, checked } = settings;
const redis = new Redis(settings.redisUrl, { enableAutoPipelining: true });
const app = Fastify();

interface ById {
  Params: { connectionId: string };
}

if (issue !== undefined) {
  const create = async (): Promise<readonly unknown[]> => {
    const answer = await redis.call(issue.name, filled(issue));
    if (!Array.isArray(answer) || answer[0] !== 'created') throw new Error('no record was created');
    return answer;
  };
  app.post('/issue', async (_request, reply) => {
    const [, createdAt, expiresAt] = await create();
    return reply.code(201).send({ createdAt, expiresAt });
  });
  if (checked !== undefined) {
    const checks = createChecks(checked);
    app.post('/checked/issue', async (request, reply) => {
      checks.authenticate(request);
      checks.validate(request.body);
      await create();
      checks.audit('elicitation.issued', request, 'subject');
      return checks.answer(reply);
    });
  }
}

if (readConnection !== undefined) {
  const read = async (connectionId: string): Promise<string> => {
    const answer = await redis.call(readConnection.name, filled(readConnection, connectionId));
    if (!Array.isArray(answer) || typeof answer[3] !== 'string') throw new Error('the connection does not exist');
    return answer[3];
  };
  app.post<ById>('/access-token/:connectionId', async request => {
    return { record: (await read(request.params.connectionId)).slice(0, 160) };
  });
  if (checked !== undefined) {
    const checks = createChecks(checked);
    app.post<ById>('/checked/access-token/:connectionId', async (request, reply) => {
      checks.authenticate(request);
      await read(request.params.connectionId);
      checks.audit('token.read', request, 'subject');
      return checks.answer(reply);
    });
  }
}

const address = await app.listen({ host: '127.0.0.1', port: 0 });
process.once('SIGTERM', () => process.exit(0));
process.send?.({ port: Number(new URL(address).port) });
