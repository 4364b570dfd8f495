import { z } from 'zod/v4';

/**
 * All error codes with their HTTP status and title (RFC 9457). Codes are stable; texts are not.
 */
export const problems = {
  invalid_request: { status: 400, title: 'The request is not valid.' },
  unauthenticated: { status: 401, title: 'A valid credential is required.' },
  insufficient_scope: { status: 403, title: 'The credential lacks the scope of this route.' },
  kind_not_allowed: { status: 403, title: 'This MCP server may not issue this kind.' },
  provider_not_allowed: { status: 403, title: 'This MCP server may not use this provider.' },
  processor_not_allowed: { status: 403, title: 'This MCP server may not use this payment processor.' },
  issuer_not_allowed: { status: 403, title: 'This MCP server may not name users of this issuer.' },
  return_url_not_registered: { status: 403, title: 'The return URL is not registered for this MCP server.' },
  muted: { status: 403, title: 'The user muted this MCP server.' },
  wrong_person: { status: 403, title: 'The elicitation belongs to another user.' },
  not_found: { status: 404, title: 'Not found.' },
  method_not_allowed: { status: 405, title: 'The method is not allowed here.' },
  already_ended: { status: 409, title: 'The elicitation has already ended.' },
  illegal_transition: { status: 409, title: 'The elicitation does not allow this in its current status.' },
  request_changed: { status: 409, title: 'The request exceeds what the user agreed to.' },
  reauthorization_required: { status: 409, title: 'The user must authorize again.' },
  verification_unknown: { status: 409, title: 'The verification is unknown, used or expired.' },
  payment_in_progress: { status: 409, title: 'The payment, or its refund, is in progress.' },
  payment_not_paid: { status: 409, title: 'The payment was not made, so there is nothing to pay back.' },
  payment_disputed: { status: 409, title: 'The payment is disputed, so the bank decides on it.' },
  payment_changed: { status: 409, title: 'The plan is of another refund, or the payment has changed since.' },
  payment_refunded: { status: 409, title: 'The whole payment was paid back, so it pays for nothing.' },
  too_many_refunds: { status: 409, title: 'The payment has too many refunds.' },
  not_redeemable: { status: 409, title: 'There is no result to redeem.' },
  already_redeemed: { status: 409, title: 'The result was redeemed already.' },
  events_gone: { status: 410, title: 'Events after this one are no longer kept.' },
  payload_too_large: { status: 413, title: 'The request is too large.' },
  unsupported_media_type: { status: 415, title: 'The media type is not supported.' },
  idempotency_key_reused: { status: 422, title: 'The Idempotency-Key was used for another request body.' },
  subject_token_invalid: { status: 422, title: 'The access token of the subject could not be verified.' },
  scope_not_allowed: { status: 422, title: 'A scope is not among those configured for the provider.' },
  resource_not_allowed: { status: 422, title: 'The resource is not among those configured for the provider.' },
  expected_account_unsupported: {
    status: 422,
    title: 'The provider is not configured to identify the connected account.',
  },
  encryption_key_not_registered: { status: 422, title: 'This MCP server has no encryption key registered.' },
  token_not_dpop_bound: { status: 422, title: 'The access token of this connection is not bound to a DPoP key.' },
  currency_not_allowed: { status: 422, title: 'This MCP server may not ask for payments in this currency.' },
  payee_not_registered: { status: 422, title: 'The payee is not registered for this MCP server.' },
  daily_limit_reached: { status: 403, title: 'The user has approved as much as they may within 24 hours.' },
  amount_over_limit: { status: 422, title: 'The amount is above the limit of this MCP server.' },
  payment_not_possible: { status: 422, title: 'The payment processor cannot take this payment.' },
  refund_exceeds_payment: { status: 422, title: 'The amount is above what can still be paid back.' },
  refund_not_possible: { status: 422, title: 'The payment processor cannot make this refund.' },
  confusable_name: { status: 422, title: 'A text can be mistaken for the name of another party.' },
  unknown_provider: { status: 422, title: 'The provider is not configured.' },
  identity_mode_mismatch: { status: 422, title: 'This MCP server does not verify users itself.' },
  rate_limited: { status: 429, title: 'Too many requests.' },
  too_many_concurrent_requests: {
    status: 429,
    title: 'Too many requests of this MCP server at once. Nothing was done.',
  },
  too_many_elicitations: { status: 429, title: 'Too many new elicitations for this subject.' },
  too_many_open_elicitations: { status: 429, title: 'Too many open elicitations for this subject.' },
  quota_exceeded: { status: 429, title: 'The storage quota of this MCP server is used up.' },
  internal_error: { status: 500, title: 'Something went wrong.' },
  upstream_unavailable: { status: 502, title: 'A provider did not respond.' },
  provider_unavailable: { status: 503, title: 'A provider keeps timing out, so no request was sent to it.' },
  unavailable: { status: 503, title: 'Temporarily unavailable.' },
  api_keys_unavailable: {
    status: 503,
    title: 'The gateway cannot read its list of API keys. The API key may be valid.',
  },
  overloaded: { status: 503, title: 'The gateway is overloaded. Nothing was done.' },
} as const satisfies Record<string, { status: number; title: string }>;

export type ProblemCode = keyof typeof problems;

const codes = Object.keys(problems) as [ProblemCode, ...ProblemCode[]];

export const problemSchema = z
  .object({
    type: z.string().describe('`urn:postern:problem:{code}`'),
    title: z.string(),
    status: z.int(),
    code: z.enum(codes),
    detail: z.string().optional(),
    requestId: z.string(),
    errors: z
      .array(z.object({ path: z.string(), message: z.string() }))
      .optional()
      .describe('For invalid_request: each fault by its path.'),
    provider: z.string().optional().describe('For provider_unavailable: the provider by its configured name.'),
    undoUrl: z.string().optional().describe('For muted: the page on which the user can undo it.'),
  })
  .meta({ id: 'Problem' });

export type ProblemBody = z.infer<typeof problemSchema>;
