import type { IssueElicitation } from '@postern/api';
import { MAX_FORM_TEXT_LENGTH, type RequestedSchema } from '@postern/api/form';
import { askDigest, type ElicitationRequest, type JsonObject } from '@postern/elicitation';
import { definedOnly } from '../defined-only.ts';
import { ProblemError } from '../http/problem-error.ts';
import { checkOf, type RegisteredMcpServer } from '../registered-mcp-server.ts';
import { fieldsSentBy } from './credential-check.ts';
import { patternFaultIn } from './patterns.ts';

type Asked = Exclude<IssueElicitation, { kind: 'authorization' }>;

/**
 * The request as it is stored and never changes again, with its digest.
 * @throws ProblemError `invalid_request` for a pattern that cannot be matched, and for a credential that cannot be checked
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
      const fault = patternFaultIn(fields);
      if (fault !== undefined) throw invalid(`body.credential.fields.${fault.at}.pattern`, fault.message);
      // Otherwise what is typed could never be checked, whatever it is.
      const check = checkOf(mcpServer, rest.name);
      for (const name of check === undefined ? [] : fieldsSentBy(check))
        if (!fields.some(field => field.name === name))
          throw invalid('body.credential.fields', `the check of this credential needs a field "${name}"`);
      const request = { kind: asked.kind, ...rest, fields };
      return {
        ...request,
        digest: askDigest(request),
        ...(rejectedGeneration === undefined ? {} : { rejectedGeneration }),
      };
    }
    case 'form': {
      const { title, requestedSchema, secretFields } = asked.form;
      refuseUnfitPatterns(requestedSchema);
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

/** @throws ProblemError `invalid_request` */
function refuseUnfitPatterns({ properties }: RequestedSchema): void {
  const texts = Object.entries(properties).map(([name, property]) => ({
    name,
    pattern: 'pattern' in property ? property.pattern : undefined,
    maxLength: Math.min('maxLength' in property ? (property.maxLength ?? Infinity) : Infinity, MAX_FORM_TEXT_LENGTH),
  }));
  const fault = patternFaultIn(texts);
  if (fault !== undefined)
    throw invalid(`body.form.requestedSchema.properties.${texts[fault.at]?.name}.pattern`, fault.message);
}

function invalid(path: string, message: string): ProblemError {
  return new ProblemError('invalid_request', { errors: [{ path, message }] });
}
