import autocannon from 'autocannon';
import type { Child } from './child.ts';

const CONNECTIONS = 64;

export interface Load {
  /** The process under load. */
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

/** A fresh object per call: autocannon adds its own headers to it. */
const copied = (request: LoadRequest): LoadRequest => ({ ...request, headers: { ...request.headers } });

export interface LoadResult {
  readonly perSecond: number;
  /** Processor time of the process under load, in microseconds. */
  readonly cpuPerRequest: number;
}

/**
 * Load over 64 connections, each of which sends its next request after the previous response.
 * @throws Error if any response was not a success: such a run would measure something else
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
    throw new Error(`${result.non2xx} responses were refusals and ${result.errors} requests failed`);
  const requests = result['2xx'];
  return { perSecond: requests / result.duration, cpuPerRequest: ((child.cpuMs() - cpuBefore) * 1000) / requests };
}
