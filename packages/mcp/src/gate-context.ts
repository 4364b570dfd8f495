import type { AskOptions } from './ask.ts';
import { type Authorization, type AuthorizeOptions, authorize } from './authorize.ts';
import { type Confirmation, type ConfirmationTerms, confirm } from './confirm.ts';
import { type CredentialRequest, type CredentialVerb, credential } from './credential.ts';
import { createFormVerb, type FormVerb } from './form.ts';
import { type Payment, type PaymentTerms, pay } from './pay.ts';
import { asked, type Run } from './run.ts';

/**
 * What a tool handler finds in `ctx.gate`. Every verb answers at once when the answer is known: from an earlier run of the same
 * call, or because something lasts that answers it. Otherwise the user is asked and the call does not return: the handler is
 * suspended with an error that must not be swallowed (see `isElicitationPending`), and runs again from the start when the MCP
 * client retries. Do not cause side effects before the last question, or make them harmless to repeat.
 *
 * Every verb may throw
 * - `ElicitationFailedError` when the interaction failed
 * - `ElicitationTimeoutError` after `timeoutMs`
 * - `CapabilityMissingError` where the MCP client cannot ask and `missingCapability` is `error`
 * - `GatewayError` when the gateway refuses or cannot be reached
 * - `SubjectUnavailableError` when the request names no verified user
 * - `PosternUsageError` `invalid_ask`
 */
export interface GateContext {
  /** Access to the user's account at a provider. Stays until somebody disconnects it. */
  authorize(provider: string, options?: AuthorizeOptions): Promise<Authorization>;
  /** Approval of a payment, by the user, of exactly these terms. Every call needs an approval of its own. */
  pay(terms: PaymentTerms, options?: AskOptions): Promise<Payment>;
  /** A binding yes to something that should not happen by accident. Every call needs a yes of its own. */
  confirm(terms: ConfirmationTerms, options?: AskOptions): Promise<Confirmation>;
  /** An API key, a password: typed on a page, never seen by the MCP client or the model. */
  readonly credential: CredentialVerb;
  /**
   * A few answers: in the MCP client where it can show forms, on a page otherwise. Not for secrets, nor for what needs to be
   * proved.
   *
   * @throws {FormContentError} for answers that do not fit
   */
  readonly form: FormVerb;
}

export function createGateContext(run: Run): GateContext {
  return {
    authorize: (provider, options) => asked(authorize(run, provider, options)),
    pay: (terms, options) => asked(pay(run, terms, options)),
    confirm: (terms, options) => asked(confirm(run, terms, options)),
    // One implementation for both overloads: what it answers follows from `retention`.
    credential: ((request: CredentialRequest, options?: AskOptions) =>
      asked(credential(run, request, options))) as CredentialVerb,
    form: createFormVerb(run),
  };
}
