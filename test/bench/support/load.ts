import autocannon from 'autocannon';
import type { Child } from './child.ts';

const CONNECTIONS = 64;

export interface Load {
  /** The process that answers. */
  readonly child: Child;
  readonly port: number;
  readonly seconds: number;
  readonly next: () => LoadRequest;
}

export interface LoadRequest {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** autocannon writes headers of its own into the object it is given. */
const copied = (request: LoadRequest): LoadRequest => ({ ...request, headers: { ...request.headers } });

export interface LoadResult {
  readonly perSecond: number;
  /** Processor time of the process that answered, in microseconds. */
  readonly cpuPerRequest: number;
}

/**
 * Requests over 64 connections that each send the next request when the answer to the last has come.
 * @throws Error when any answer was not a success: such a run measures something else.
 */
export async function load({ child, port, seconds, next }: Load): Promise<LoadResult> {
  const cpuBefore = child.cpuMs();
  const result = await autocannon({
    url: `http://127.0.0.1:${port}`,
    connections: CONNECTIONS,
    duration: seconds,
    requests: [{ method: 'POST', setupRequest: request => ({ ...request, ...copied(next()) }) }],
  });
  if (result.non2xx > 0 || result.errors > 0)
    throw new Error(`${result.non2xx} answers were refusals and ${result.errors} requests failed`);
  const requests = result['2xx'];
  return { perSecond: requests / result.duration, cpuPerRequest: ((child.cpuMs() - cpuBefore) * 1000) / requests };
}
