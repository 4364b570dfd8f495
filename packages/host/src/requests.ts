import { type FormContent, parseFormContent, requestedSchemaSchema } from '@postern/api';
import { z } from 'zod';
import type { ElicitationAnswer, ElicitationRequest, FormElicitation, UrlElicitation } from './elicitation.ts';
import { HostError } from './errors.ts';
import { inspectUrl } from './url/inspect-url.ts';
import { parseRequestedSchema } from './wire-schema.ts';

/** Error code of revision 2025-11-25. Payment schemes outside of MCP use the same number with other data. */
export const URL_ELICITATION_REQUIRED = -32042;

const elicitationId = z.string().min(1).max(512);
const formParams = z.object({ mode: z.literal('form').optional(), message: z.string(), requestedSchema: z.unknown() });
const urlParams = z.object({
  mode: z.literal('url'),
  message: z.string(),
  url: z.string(),
  elicitationId: elicitationId.optional(),
});

const toUrlElicitation = ({ elicitationId: id, ...rest }: z.output<typeof urlParams>): UrlElicitation =>
  id === undefined ? rest : { ...rest, elicitationId: id };

/** The parameters of an `elicitation/create` as they came. @throws {HostError} `invalid_request` */
export function parseElicitation(params: unknown): ElicitationRequest {
  const url = urlParams.safeParse(params);
  if (url.success) return toUrlElicitation(url.data);
  const form = formParams.safeParse(params);
  if (!form.success) throw new HostError('invalid_request', 'neither a form nor a URL elicitation');
  const { message, requestedSchema } = form.data;
  return { mode: 'form', message, requestedSchema: parseRequestedSchema(requestedSchema) };
}

const urlElicitationRequired = z.object({
  code: z.literal(URL_ELICITATION_REQUIRED),
  data: z.object({
    elicitations: z
      .array(urlParams.required({ elicitationId: true }))
      .min(1)
      .max(20),
  }),
});

/**
 * Tells a −32042 of MCP from whatever else is sent under that number, by the shape of its data: `elicitations` of URL mode,
 * each with an id.
 *
 * @returns undefined for every other error and payload
 */
export function readUrlElicitationRequired(error: unknown): readonly UrlElicitation[] | undefined {
  const parsed = urlElicitationRequired.safeParse(error);
  return parsed.success ? parsed.data.data.elicitations.map(toUrlElicitation) : undefined;
}

/** A form to ask for, checked strictly. @throws {HostError} `invalid_request` */
export function formRequest(p: { message: string; requestedSchema: unknown }): FormElicitation {
  const parsed = requestedSchemaSchema.safeParse(p.requestedSchema);
  if (!parsed.success) throw new HostError('invalid_request', z.prettifyError(parsed.error));
  return { mode: 'form', message: p.message, requestedSchema: parsed.data };
}

/**
 * A URL to ask for. Only https, and http on loopback (MCP: HTTPS outside of development).
 *
 * @throws {HostError} `invalid_request`
 */
export function urlRequest(p: { message: string; url: string; elicitationId?: string }): UrlElicitation {
  const inspected = inspectUrl(p.url);
  if (inspected === undefined) throw new HostError('invalid_request', 'not a web address');
  const codes = inspected.warnings.map(({ code }) => code);
  if (codes.includes('not_encrypted')) throw new HostError('invalid_request', 'the address is not https');
  if (codes.includes('user_info')) throw new HostError('invalid_request', 'the address carries a user name');
  const parsed = urlParams.safeParse({ ...p, mode: 'url' });
  if (!parsed.success) throw new HostError('invalid_request', z.prettifyError(parsed.error));
  return toUrlElicitation(parsed.data);
}

/** An entry of `inputRequests` (2026-07-28), and the request that is pushed (2025-11-25). */
export function toElicitRequest<Request extends ElicitationRequest>(request: Request) {
  return { method: 'elicitation/create' as const, params: request };
}

/** What stands in a JSON-RPC error for URLs that are needed first (2025-11-25). @throws {HostError} `invalid_request` */
export function urlElicitationRequiredError(elicitations: readonly UrlElicitation[], message = 'Open the page first.') {
  const error = { code: URL_ELICITATION_REQUIRED, message, data: { elicitations } } as const;
  if (readUrlElicitationRequired(error) === undefined)
    throw new HostError('invalid_request', 'needs at least one URL, each with an elicitationId');
  return error;
}

/** The person agrees: with the values of a form, or to open a URL. */
export function accept(content?: FormContent): ElicitationAnswer {
  return content === undefined ? { action: 'accept' } : { action: 'accept', content };
}

/** The person says no. */
export const decline = (): ElicitationAnswer => ({ action: 'decline' });

/** Nobody has decided. */
export const cancel = (): ElicitationAnswer => ({ action: 'cancel' });

/**
 * An answer in the shape that fits what was asked: a form is accepted with values that fit its schema, a URL without any.
 *
 * @throws {HostError} `invalid_content`; its message names fields and faults, never values
 */
export function checkAnswer(request: ElicitationRequest, answer: ElicitationAnswer): ElicitationAnswer {
  if (answer.action !== 'accept') return { action: answer.action };
  if (request.mode === 'url') return { action: 'accept' };
  const parsed = parseFormContent(request.requestedSchema, { ...answer.content });
  if (parsed.faults === undefined) return { action: 'accept', content: parsed.content };
  const faults = parsed.faults.map(({ path, code }) => `${path} ${code}`).join(', ');
  throw new HostError('invalid_content', `the values do not fit the form: ${faults}`);
}
