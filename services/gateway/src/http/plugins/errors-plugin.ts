import { type ProblemBody, type ProblemCode, problems } from '@postern/api';
import type { FastifyReply, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import type { GatewayDeps } from '../../deps.ts';
import { type Problem, problemWith } from '../problem-of.ts';

export function problemBody(problem: Problem, requestId: string): ProblemBody {
  return {
    type: `urn:postern:problem:${problem.code}`,
    title: problems[problem.code].title,
    status: problem.status,
    code: problem.code,
    requestId,
    ...(problem.errors === undefined ? {} : { errors: [...problem.errors] }),
    ...(problem.provider === undefined ? {} : { provider: problem.provider }),
  };
}

export function sendProblem(request: FastifyRequest, reply: FastifyReply, problem: Problem): FastifyReply {
  if (problem.retryAfterMs !== undefined)
    reply.header('retry-after', Math.max(1, Math.ceil(problem.retryAfterMs / 1000)));
  if (problem.code === 'unauthenticated') reply.header('www-authenticate', 'Bearer realm="postern"');
  return reply.code(problem.status).type('application/problem+json').send(problemBody(problem, request.id));
}

export const problemFor = (code: ProblemCode): Problem => ({ code, status: problems[code].status });

/** Machines get RFC 9457 problems. Pages override this in their own scope. */
export const errorsPlugin = fp<{ deps: GatewayDeps }>(
  async (app, { deps }) => {
    app.setErrorHandler((error, request, reply) => {
      const problem = problemWith(request, error);
      deps.noteUnknownLayout(error);
      deps.noteQuota(error);
      if (problem === undefined)
        deps.logger.error(
          { event: 'http.surprise', requestId: request.id, route: request.routeOptions.url, error },
          'unexpected error',
        );
      return sendProblem(request, reply, problem ?? problemFor('internal_error'));
    });
  },
  { name: 'errors' },
);
