/** The work that the gateway's checks and records need in any design, for the ceiling. */
import { createHmac, hash, timingSafeEqual } from 'node:crypto';
import { writeSync } from 'node:fs';
import { issueElicitationSchema } from '@postern/api';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { CheckedSettings } from '../support/ceiling.ts';

export function createChecks({ apiKeyDigest, mcpServerId, answer }: CheckedSettings) {
  const known = Buffer.from(apiKeyDigest, 'hex');
  const pseudonymKey = Buffer.alloc(32, 7);

  return {
    /** @throws Error unless the request has the API key */
    authenticate({ headers: { authorization = '' } }: FastifyRequest): void {
      const digest = hash('sha256', authorization.slice('Bearer '.length), 'buffer');
      if (!timingSafeEqual(digest, known)) throw new Error('unauthenticated');
    },

    /** @throws ZodError unless the body is a valid request for an elicitation */
    validate(body: unknown): void {
      issueElicitationSchema.parse(body);
    },

    /** Logs synchronously: an audit line must not be lost in a crash. */
    audit(event: string, { id: requestId, ip: source }: FastifyRequest, subject: string): void {
      const pseudonym = createHmac('sha256', pseudonymKey).update(subject).digest('base64url').slice(0, 16);
      const line = {
        level: 'info',
        time: new Date(),
        audit: true,
        requestId,
        source,
        event,
        mcpServerId,
        subject: pseudonym,
      };
      writeSync(1, `${JSON.stringify(line)}\n`);
    },

    /** Sends the headers and the body of the gateway's own response. */
    answer: (reply: FastifyReply) => reply.code(answer.status).headers(answer.headers).send(answer.body),
  };
}
