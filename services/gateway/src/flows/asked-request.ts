import type { IssueElicitation } from '@postern/api';
import { askDigest, type ElicitationRequest, type JsonObject } from '@postern/elicitation';
import { definedOnly } from '../defined-only.ts';
import { ProblemError } from '../http/problem-error.ts';
import type { RegisteredMcpServer } from '../registered-mcp-server.ts';
import { isUsablePattern } from './credential-entry.ts';

type Asked = Exclude<IssueElicitation, { kind: 'authorization' }>;

/**
 * The request as it is stored and never changes again, with its digest.
 * @throws ProblemError `invalid_request` for a pattern that cannot be matched
 */
export function askedRequest(
  asked: Asked,
  mcpServer: RegisteredMcpServer,
): Exclude<ElicitationRequest, { kind: 'authorization' }> {
  switch (asked.kind) {
    case 'payment': {
      const { processor = mcpServer.payment?.processors[0] ?? 'none', items, ...rest } = asked.payment;
      const terms = { ...rest, ...(items === undefined ? {} : { items }) };
      const request = { kind: asked.kind, terms, processor };
      return { ...request, digest: askDigest(request) };
    }
    case 'confirmation': {
      const request = { kind: asked.kind, terms: asked.confirmation };
      return { ...request, digest: askDigest(request) };
    }
    case 'credential': {
      const { fields: given, rejectedGeneration, ...rest } = asked.credential;
      const fields = given.map(definedOnly);
      const at = fields.findIndex(({ pattern }) => pattern !== undefined && !isUsablePattern(pattern));
      if (at !== -1)
        throw new ProblemError('invalid_request', {
          errors: [{ path: `body.credential.fields.${at}.pattern`, message: 'not a pattern in RE2 syntax' }],
        });
      const request = { kind: asked.kind, ...rest, fields };
      return {
        ...request,
        digest: askDigest(request),
        ...(rejectedGeneration === undefined ? {} : { rejectedGeneration }),
      };
    }
    case 'form': {
      const { title, requestedSchema, secretFields } = asked.form;
      // Checked, and JSON from the start: what is stored is what was asked, member by member.
      const schema = JSON.parse(JSON.stringify(requestedSchema)) as JsonObject;
      const request = {
        kind: asked.kind,
        ...(title === undefined ? {} : { title }),
        requestedSchema: schema,
        secretFields,
      };
      return { ...request, digest: askDigest(request) };
    }
  }
}
