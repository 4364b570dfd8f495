import { type FormContent, parseFormContent, requestedSchemaSchema } from '@postern/api';
import { z } from 'zod/v4';
import type { ElicitationAnswer, ElicitationRequest, FormElicitation, UrlElicitation } from './elicitation.ts';
import { HostError } from './errors.ts';
import { inspectUrl } from './url/inspect-url.ts';
import { parseRequestedSchema } from './wire-schema.ts';

/** Error code of revision 2025-11-25. Payment schemes outside MCP use the same code with other data. */
export const URL_ELICITATION_REQUIRED = -32042;

const elicitationId = z.string().min(1).max(512);
const formParams = z.object({ mode: z.literal('form').nullish(), message: z.string(), requestedSchema: z.unknown() });
const urlParams = z.object({
  mode: z.literal('url'),
  message: z.string(),
  url: z.string(),
  // Some MCP servers write an absent id as null or an empty text.
  elicitationId: z.preprocess(id => (id === null || id === '' ? undefined : id), elicitationId.optional()),
});

const toUrlElicitation = ({ elicitationId: id, ...rest }: z.output<typeof urlParams>): UrlElicitation =>
  id === undefined ? rest : { ...rest, elicitationId: id };

/** Parses the parameters of an `elicitation/create`. @throws {HostError} `invalid_request` */
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
 * Recognises MCP's −32042 among other uses of that code by the shape of its data: `elicitations` in URL mode,
 * each with an id.
 *
 * @returns undefined for any other error
 */
export function readUrlElicitationRequired(error: unknown): readonly UrlElicitation[] | undefined {
  const parsed = urlElicitationRequired.safeParse(error);
  return parsed.success ? parsed.data.data.elicitations.map(toUrlElicitation) : undefined;
}

/** Builds a form elicitation, strictly validated. @throws {HostError} `invalid_request` */
export function formRequest(p: { message: string; requestedSchema: unknown }): FormElicitation {
  const parsed = requestedSchemaSchema.safeParse(p.requestedSchema);
  if (!parsed.success) throw new HostError('invalid_request', z.prettifyError(parsed.error));
  return { mode: 'form', message: p.message, requestedSchema: parsed.data };
}

/**
 * Builds a URL elicitation. Accepts only https, and http on loopback (MCP: HTTPS outside of development).
 *
 * @throws {HostError} `invalid_request`
 */
export function urlRequest(p: { message: string; url: string; elicitationId?: string }): UrlElicitation {
  const inspected = inspectUrl(p.url);
  if (inspected === undefined) throw new HostError('invalid_request', 'the URL is not a web address');
  const codes = inspected.warnings.map(({ code }) => code);
  if (codes.includes('not_encrypted')) throw new HostError('invalid_request', 'the URL is not https');
  if (codes.includes('user_info')) throw new HostError('invalid_request', 'the URL contains a user name');
  const parsed = urlParams.safeParse({ ...p, mode: 'url' });
  if (!parsed.success) throw new HostError('invalid_request', z.prettifyError(parsed.error));
  return toUrlElicitation(parsed.data);
}

/** Builds an entry of `inputRequests` (2026-07-28), or a pushed request (2025-11-25). */
export function toElicitRequest<Request extends ElicitationRequest>(request: Request) {
  return { method: 'elicitation/create' as const, params: request };
}

/** The JSON-RPC error for URLs that must be completed first (2025-11-25). Its JSON is the `error` of a response. */
class UrlElicitationRequired extends Error {
  override readonly name = 'UrlElicitationRequired';
  readonly code = URL_ELICITATION_REQUIRED;
  readonly data: { readonly elicitations: readonly UrlElicitation[] };

  constructor(elicitations: readonly UrlElicitation[], message: string) {
    super(message);
    this.data = { elicitations };
  }

  toJSON() {
    return { code: this.code, message: this.message, data: this.data };
  }
}

/** Builds the JSON-RPC error for URLs that must be completed first (2025-11-25), to throw or to send. @throws {HostError} `invalid_request` */
export function urlElicitationRequiredError(
  elicitations: readonly UrlElicitation[],
  message = 'Open the page first.',
): UrlElicitationRequired {
  const error = new UrlElicitationRequired(elicitations, message);
  if (readUrlElicitationRequired(error) === undefined)
    throw new HostError('invalid_request', 'needs at least one URL, each with an elicitationId');
  return error;
}

/** The user agrees: with the values of a form, or to open a URL. */
export function accept(content?: FormContent): ElicitationAnswer {
  return content === undefined ? { action: 'accept' } : { action: 'accept', content };
}

/** The user refuses. */
export const decline = (): ElicitationAnswer => ({ action: 'decline' });

/** The user did not decide. */
export const cancel = (): ElicitationAnswer => ({ action: 'cancel' });

/**
 * Validates an answer against its request: an accepted form has values that satisfy its schema, an accepted URL has none.
 *
 * @throws {HostError} `invalid_content`; its message names fields and faults, never values
 */
export function checkAnswer(request: ElicitationRequest, answer: ElicitationAnswer): ElicitationAnswer {
  if (answer.action !== 'accept') return { action: answer.action, ...(answer.by === 'policy' && { by: answer.by }) };
  if (request.mode === 'url') return { action: 'accept' };
  const parsed = parseFormContent(request.requestedSchema, { ...answer.content });
  if (parsed.faults === undefined) return { action: 'accept', content: parsed.content };
  const faults = parsed.faults.map(({ path, code }) => `${path} ${code}`).join(', ');
  throw new HostError('invalid_content', `the values do not fit the form: ${faults}`);
}
