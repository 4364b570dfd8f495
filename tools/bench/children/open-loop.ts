/**
 * An MCP server that issues, reads and cancels at a fixed rate, regardless of responses: while requests are pending, a due request uses
 * another connection. Latency counts from the time at which a request was due.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { HttpConnection, httpRequest } from '../../../test/support/http-connection.ts';
import { askBody, newSubject, otherApiHeaders } from '../support/gateway.ts';

export const openLoopCommandSchema = z.strictObject({ port: z.int(), perSecond: z.number(), seconds: z.number() });
export type OpenLoopCommand = z.infer<typeof openLoopCommandSchema>;

export const openLoopReportSchema = z.strictObject({
  ms: z.array(z.number()),
  /** Responses other than 2xx. */
  refused: z.int(),
});

if (import.meta.main) {
  process.on('message', message => {
    void run(openLoopCommandSchema.parse(message)).then(report => process.send?.(report));
  });
  process.once('SIGTERM', () => process.exit(0));
  process.send?.({ ready: true });
}

async function run({ port, perSecond, seconds }: OpenLoopCommand): Promise<z.infer<typeof openLoopReportSchema>> {
  const idle: HttpConnection[] = [];
  const live: string[] = [];
  const ms: number[] = [];
  let refused = 0;

  async function send(dueAt: number, method: string, path: string, body?: string): Promise<string> {
    const connection = idle.pop() ?? (await HttpConnection.open(port));
    const answer = await connection.request(httpRequest(method, path, port, otherApiHeaders, body));
    ms.push(performance.now() - dueAt);
    idle.push(connection);
    if (answer.status < 200 || answer.status > 299) refused += 1;
    return answer.body;
  }
  async function issue(dueAt: number): Promise<void> {
    const { elicitationId } = JSON.parse(await send(dueAt, 'POST', '/v1/elicitations', askBody(newSubject())));
    if (typeof elicitationId === 'string') live.push(elicitationId);
  }

  const startAt = performance.now();
  const sent: Promise<unknown>[] = [];
  for (let nth = 0; nth < perSecond * seconds; nth += 1) {
    const dueAt = startAt + (nth * 1000) / perSecond;
    const wait = dueAt - performance.now();
    if (wait > 0) await delay(wait);
    const id = nth % 3 === 2 ? live.shift() : live[0];
    if (nth % 3 === 0 || id === undefined) sent.push(issue(dueAt));
    else if (nth % 3 === 1) sent.push(send(dueAt, 'GET', `/v1/elicitations/${id}`));
    else sent.push(send(dueAt, 'POST', `/v1/elicitations/${id}/cancel`, '{}'));
  }
  await Promise.all(sent);
  for (const connection of idle) connection[Symbol.dispose]();
  return { ms, refused };
}
