import autocannon from 'autocannon';

const CONNECTIONS = 64;

export interface Load {
  readonly port: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly seconds: number;
  readonly next: () => { readonly path: string; readonly body: string };
}

/**
 * Requests per second over 64 connections that each send the next request when the answer to the last has come.
 * @throws Error when any answer was not a success: such a run measures something else.
 */
export async function requestsPerSecond({ port, headers, seconds, next }: Load): Promise<number> {
  const result = await autocannon({
    url: `http://127.0.0.1:${port}`,
    connections: CONNECTIONS,
    duration: seconds,
    requests: [{ method: 'POST', headers, setupRequest: request => ({ ...request, ...next() }) }],
  });
  if (result.non2xx > 0 || result.errors > 0)
    throw new Error(`${result.non2xx} answers were refusals and ${result.errors} requests failed`);
  return result['2xx'] / result.duration;
}
