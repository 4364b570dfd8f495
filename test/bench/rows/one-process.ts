import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startRedis } from '@postern/testkit/redis';
import { Redis } from 'ioredis';
import { z } from 'zod';
import { type Bench, redisOptions } from '../support/bench.ts';
import { captureCommand } from '../support/captured-command.ts';
import { readiness, startChild } from '../support/child.ts';
import {
  apiHeaders,
  askBody,
  type GatewayProcess,
  newSubject,
  newVaultKey,
  startGatewayProcess,
} from '../support/gateway.ts';
import { HttpConnection, httpRequest } from '../support/http-connection.ts';
import { requestsPerSecond } from '../support/load.ts';
import { compared, type Row } from '../support/row.ts';
import { connectAll } from '../support/seeds.ts';
import { interleave } from '../support/statistics.ts';

const CONNECTED = 512;
const { authorization } = apiHeaders;
const tokenHeaders = { authorization: authorization ?? '' };

/** One gateway process on one Redis under load, against a bare handler that sends Redis the same command. */
export async function oneProcessRows(bench: Bench): Promise<Row[]> {
  await using redis = await startRedis(redisOptions);
  const vaultKey = newVaultKey();
  await using gateway = await startGatewayProcess({ ...bench, redisUrl: redis.url, vaultKey });

  await issueOnce(gateway);
  const [connectionId = ''] = await connectAll(redis.url, vaultKey, 1);
  const settings = {
    redisUrl: redis.url,
    issue: await captureCommand(redis.url, () => issueOnce(gateway)),
    readConnection: await captureCommand(redis.url, () => readTokenOnce(gateway, connectionId)),
  };
  const settingsPath = join(bench.directory, 'ceiling.json');
  writeFileSync(settingsPath, JSON.stringify(settings));
  await using ceiling = startChild({ module: 'test/bench/children/ceiling.ts', args: [settingsPath] });
  const { port: ceilingPort } = z.object({ port: z.int() }).parse(await readiness(ceiling));

  const { seconds } = bench;
  const issue =
    (port: number, path: string, headers = apiHeaders) =>
    async () => {
      await flush(redis.url);
      return requestsPerSecond({ port, seconds, headers, next: () => ({ path, body: askBody(newSubject()) }) });
    };
  const ours = issue(gateway.port, '/v1/elicitations');
  const idempotent = async () => {
    await flush(redis.url);
    return requestsPerSecond({
      port: gateway.port,
      seconds,
      headers: apiHeaders,
      next: () => ({
        path: '/v1/elicitations',
        body: askBody(newSubject()),
        headers: { ...apiHeaders, 'idempotency-key': randomUUID() },
      }),
    });
  };
  const bare = issue(ceilingPort, '/issue');
  await Promise.all([ours(), bare()]);
  const issued = await interleave(bench.runs, ours, bare);
  const issuedOnce = await interleave(bench.runs, idempotent, bare);

  const connectionIds = await connectAll(redis.url, vaultKey, CONNECTED);
  const readToken = (port: number, pathOf: (id: string) => string) => () => {
    let turn = 0;
    const next = () => {
      turn += 1;
      return { path: pathOf(connectionIds[turn % CONNECTED] ?? ''), body: '' };
    };
    return requestsPerSecond({ port, seconds, headers: tokenHeaders, next });
  };
  const oursRead = readToken(gateway.port, id => `/v1/connections/${id}/access-token`);
  const bareRead = readToken(ceilingPort, id => `/access-token/${id}`);
  await Promise.all([oursRead(), bareRead()]);
  const read = await interleave(bench.runs, oursRead, bareRead);

  return [
    compared('issue', 'requests/s', 'bare handler, same script', issued, { bound: 'at least', value: 0.6 }),
    compared('issue with Idempotency-Key (3 scripts)', 'requests/s', 'bare handler, 1 script', issuedOnce),
    compared('read a fresh access token', 'requests/s', 'bare handler, same read', read, {
      bound: 'at least',
      value: 0.6,
    }),
  ];
}

async function flush(redisUrl: string): Promise<void> {
  const redis = new Redis(redisUrl);
  await redis.flushall();
  redis.disconnect();
}

const issuedSchema = z.object({ elicitationId: z.string() });

async function issueOnce({ port }: GatewayProcess): Promise<{ id: string; subject: string }> {
  using connection = await HttpConnection.open(port);
  const subject = newSubject();
  const answer = await connection.request(httpRequest('POST', '/v1/elicitations', port, apiHeaders, askBody(subject)));
  if (answer.status !== 201) throw new Error(`issuing was answered with ${answer.status}`);
  return { id: issuedSchema.parse(JSON.parse(answer.body)).elicitationId, subject };
}

async function readTokenOnce({ port }: GatewayProcess, connectionId: string) {
  using connection = await HttpConnection.open(port);
  const path = `/v1/connections/${connectionId}/access-token`;
  const answer = await connection.request(httpRequest('POST', path, port, tokenHeaders));
  if (answer.status !== 200) throw new Error(`reading an access token was answered with ${answer.status}`);
  return { id: connectionId, subject: 'nobody' };
}
