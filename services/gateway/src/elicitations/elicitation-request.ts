import type { IssueElicitation } from '@postern/api';
import { MAX_FORM_TEXT_LENGTH } from '@postern/api/form';
import { askDigest, type ElicitationRequest, type JsonObject, type PaymentRequest } from '@postern/elicitation';
import { decimalsOf, type PaymentProcessor } from '@postern/payment';
import { fieldsSentBy } from '../entries/credential-check.ts';
import type { PatternedText } from '../entries/patterns.ts';
import { allowed } from '../mcp-servers/allowed-to-caller.ts';
import {
  checkOf,
  isForRegisteredPayee,
  mayAsk,
  payeeOf,
  type RegisteredMcpServer,
} from '../mcp-servers/registered-mcp-server.ts';
import { ProblemError } from '../platform/http/problems.ts';

/**
 * Converts the body of an API call to the immutable request of an elicitation, with its digest.
 * @throws ProblemError `invalid_request` for a credential that cannot be checked, or an amount that cannot be shown
 */
export function elicitationRequestOf(
  input: Exclude<IssueElicitation, { kind: 'authorization' }>,
  mcpServer: RegisteredMcpServer,
): Exclude<ElicitationRequest, { kind: 'authorization' }> {
  switch (input.kind) {
    case 'payment': {
      const { processor = mcpServer.payment?.processors[0] ?? 'none', items, ...rest } = input.payment;
      const terms = { ...rest, items };
      const request = { kind: input.kind, terms, processor };
      const payeeAccount = payeeOf(mcpServer, request)?.account;
      return { ...request, digest: askDigest(request), payeeAccount };
    }
    case 'confirmation': {
      // No page can show a number of minor units of such a currency.
      for (const [at, fact] of input.confirmation.facts.entries())
        if (fact.type === 'amount' && decimalsOf(fact.value.currency) === undefined)
          throw invalid(`body.confirmation.facts.${at}.value.currency`, 'not an active currency with a minor unit');
      const request = { kind: input.kind, terms: input.confirmation };
      return { ...request, digest: askDigest(request) };
    }
    case 'credential': {
      const { rejectedGeneration, ...rest } = input.credential;
      // Without these fields the check would fail for any input.
      const check = checkOf(mcpServer, rest.name);
      for (const name of check === undefined ? [] : fieldsSentBy(check))
        if (!rest.fields.some(field => field.name === name))
          throw invalid('body.credential.fields', `the check of this credential needs a field "${name}"`);
      const request = { kind: input.kind, ...rest };
      return {
        ...request,
        digest: askDigest(request),
        rejectedGeneration,
      };
    }
    case 'form': {
      const { title, requestedSchema, texts, secretFields } = input.form;
      // Validated JSON: every member is stored as sent.
      const schema = JSON.parse(JSON.stringify(requestedSchema)) as JsonObject;
      const request = {
        kind: input.kind,
        title,
        requestedSchema: schema,
        texts: texts && (JSON.parse(JSON.stringify(texts)) as JsonObject),
        secretFields,
      };
      return { ...request, digest: askDigest(request) };
    }
  }
}

/** Returns the texts that the user types, with their patterns. */
export function patternedTextsIn(input: IssueElicitation): PatternedText[] {
  if (input.kind === 'credential')
    return input.credential.fields.map((field, at) => ({ path: `body.credential.fields.${at}.pattern`, ...field }));
  if (input.kind !== 'form') return [];
  return Object.entries(input.form.requestedSchema.properties).map(([name, property]) => ({
    path: `body.form.requestedSchema.properties.${name}.pattern`,
    pattern: 'pattern' in property ? property.pattern : undefined,
    maxLength: Math.min('maxLength' in property ? (property.maxLength ?? Infinity) : Infinity, MAX_FORM_TEXT_LENGTH),
  }));
}

function invalid(path: string, message: string): ProblemError {
  return new ProblemError('invalid_request', { errors: [{ path, message }] });
}

/**
 * Refuses a payment at issue that its processor would refuse after the approval, and one whose payee nothing binds to the account that
 * gets the money. Payments outside the MCP server's own limits are left to the domain, which has other error codes for them.
 *
 * @throws ProblemError `payee_not_registered`, `payment_not_possible`, which name the invalid member
 */
export function assertPossiblePayment(
  request: PaymentRequest,
  mcpServer: RegisteredMcpServer,
  processors: ReadonlyMap<string, Pick<PaymentProcessor, 'canTake'>>,
): void {
  const { kinds, payment } = mcpServer;
  const isPermitted = kinds.includes(request.kind) && payment?.processors.includes(request.processor) === true;
  if (isPermitted && !isForRegisteredPayee(mcpServer, request)) {
    const names = mcpServer.config.payment?.payees.map(({ name }) => name) ?? [];
    const message = 'is not a registered payee of this MCP server, and a processor takes payments for no others';
    throw new ProblemError('payee_not_registered', {
      detail: allowed('payees', names),
      errors: [{ path: 'body.payment.payee.name', message }],
    });
  }
  if (!mayAsk(mcpServer, request)) return;
  const possibility = processors.get(request.processor)?.canTake(request.terms);
  if (possibility?.result !== 'impossible') return;
  const { member, message } = possibility;
  throw new ProblemError('payment_not_possible', { errors: [{ path: `body.payment.${member}`, message }] });
}
