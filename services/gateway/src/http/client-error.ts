import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { ProblemCode } from '@postern/api';
import { problemBody, problemFor } from './plugins/errors-plugin.ts';
import { requestIdOf } from './plugins/request-id.ts';
import type { Problem } from './problem-of.ts';

/** What Node's HTTP parser refuses, by the code of its error; anything else is a request that is not HTTP. */
const refusals: Readonly<Record<string, { status: number; code: ProblemCode }>> = {
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, code: 'invalid_request' },
  HPE_HEADER_OVERFLOW: { status: 431, code: 'payload_too_large' },
};

/** Answers what never became a request, in the shape and with the headers of every other answer. Repeats nothing of it. */
export function createClientErrorHandler(headers: Readonly<Record<string, string>>) {
  return (error: Error & { code: string }, socket: Socket): void => {
    // A connection that is gone, or that was answered before, has nothing more to hear.
    if (socket.destroyed || !socket.writable || error.code === 'ECONNRESET') {
      socket.destroy();
      return;
    }
    const problem: Problem = refusals[error.code] ?? problemFor('invalid_request');
    const body = JSON.stringify(problemBody(problem, requestIdOf()));
    const lines = Object.entries({
      ...headers,
      'content-type': 'application/problem+json; charset=utf-8',
      'content-length': String(Buffer.byteLength(body)),
      connection: 'close',
    }).map(([name, value]) => `${name}: ${value}`);
    socket.end([`HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status] ?? ''}`, ...lines, '', body].join('\r\n'));
  };
}
