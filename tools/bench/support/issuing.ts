import { Redis } from 'ioredis';
import { z } from 'zod';
import { HttpConnection, httpRequest } from '../../../test/support/http-connection.ts';
import { apiHeaders, askBody, newSubject } from './gateway.ts';

const issuedSchema = z.object({ elicitationId: z.string() });

/** Issues a new elicitation. @returns its id. @throws if the response is not 201 */
export async function issue(port: number, connection: HttpConnection, body: string): Promise<string> {
  const answer = await connection.request(httpRequest('POST', '/v1/elicitations', port, apiHeaders, body));
  if (answer.status !== 201) throw new Error(`issuing was answered with ${answer.status}: ${answer.body}`);
  return issuedSchema.parse(JSON.parse(answer.body)).elicitationId;
}

/** Lifetime of an elicitation that is longer than the benchmark takes. */
const DAY_SECONDS = 86_400;
export const lastingAsk = (subject: string) =>
  JSON.stringify({ ...JSON.parse(askBody(subject)), ttlSeconds: DAY_SECONDS });

export interface Issued {
  readonly id: string;
  readonly subject: string;
}

/** Issues an elicitation for an unused subject, over a new connection. */
export async function issueOnce(
  { port }: { readonly port: number },
  body: (subject: string) => string = askBody,
): Promise<Issued> {
  using connection = await HttpConnection.open(port);
  const subject = newSubject();
  return { id: await issue(port, connection, body(subject)), subject };
}

export async function flush(redisUrl: string): Promise<void> {
  const redis = new Redis(redisUrl);
  await flushRecords(redis);
  redis.disconnect();
}

/** Deletes all records except the epochs, without which the running gateway would consider its data lost. */
export async function flushRecords(redis: Redis): Promise<void> {
  const keys = await redis.keys('*:epoch');
  const epochs = keys.length === 0 ? [] : await redis.mget(keys);
  const emptying = redis.multi().flushall();
  for (const [at, key] of keys.entries()) emptying.set(key, epochs[at] ?? '');
  await emptying.exec();
}
