import { askDigest } from './ask-digest.ts';
import { DomainError } from './errors.ts';
import type { McpServer, ProviderFacts } from './mcp-server.ts';
import type { AuthorizationRequest, ElicitationRequest, PaymentRequest } from './requests.ts';
import type { Subject } from './subject.ts';

/** A request as the MCP server sends it. Without scopes, it asks for the provider's default scopes. */
export type RequestInput =
  | (Omit<AuthorizationRequest, 'scopes'> & { readonly scopes?: readonly string[] })
  | Exclude<ElicitationRequest, AuthorizationRequest>;

/**
 * Returns the request in canonical form: the same request is equal however it was spelled.
 * @throws DomainError `kind_not_allowed`, `issuer_not_allowed`, `return_url_not_registered`, `provider_not_allowed`,
 * `unknown_provider`, `processor_not_allowed`, `currency_not_allowed`, `amount_over_limit`; TypeError if the digest does not
 * match the request
 */
export function authorizeRequest(
  mcpServer: McpServer,
  input: { readonly subject: Subject; readonly request: RequestInput; readonly returnUrl?: string },
  providers: (name: string) => ProviderFacts | undefined,
): ElicitationRequest {
  const { request, subject, returnUrl } = input;
  if (!mcpServer.kinds.includes(request.kind))
    throw new DomainError('kind_not_allowed', 'This MCP server may not issue this kind.');
  if (!mcpServer.issuers.includes(subject.issuer))
    throw new DomainError('issuer_not_allowed', 'This MCP server may not name users of this issuer.');
  if (returnUrl !== undefined && !mcpServer.returnUrls.includes(returnUrl))
    throw new DomainError('return_url_not_registered', 'The return URL is not registered for this MCP server.');
  if (request.kind === 'authorization') return permittedAuthorization(mcpServer, request, providers);
  // Everything later relies on this digest: the page, the approval and the signature refer to it.
  if (request.digest !== askDigest(request)) throw new TypeError('The digest is not that of the request.');
  if (request.kind === 'payment') assertPermittedPayment(mcpServer, request);
  return request;
}

function permittedAuthorization(
  mcpServer: McpServer,
  { kind, provider, scopes, resource, expectedAccount }: Extract<RequestInput, { kind: 'authorization' }>,
  providers: (name: string) => ProviderFacts | undefined,
): AuthorizationRequest {
  if (!mcpServer.providers.includes(provider))
    throw new DomainError('provider_not_allowed', 'This MCP server may not use this provider.');
  const facts = providers(provider);
  if (facts === undefined) throw new DomainError('unknown_provider', 'The provider is not configured.');
  return {
    kind,
    provider,
    scopes: [...new Set(scopes ?? facts.defaultScopes)].sort(),
    resource,
    expectedAccount,
  };
}

function assertPermittedPayment({ payment }: McpServer, { processor, terms: { amount } }: PaymentRequest): void {
  const { currency, minorUnits } = amount;
  if (!Number.isSafeInteger(minorUnits) || minorUnits <= 0)
    throw new TypeError('An amount is a positive integer of minor units.');
  if (payment === undefined || !payment.processors.includes(processor))
    throw new DomainError('processor_not_allowed', 'This MCP server may not use this payment processor.');
  if (!Object.hasOwn(payment.maxMinorUnits, currency))
    throw new DomainError('currency_not_allowed', 'This MCP server may not ask for payments in this currency.');
  // A NaN limit refuses as well.
  if (!(minorUnits <= (payment.maxMinorUnits[currency] ?? 0)))
    throw new DomainError('amount_over_limit', 'This MCP server may not ask for payments this high.');
}
