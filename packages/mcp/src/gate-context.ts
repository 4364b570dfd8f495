import {
  type Confirmation,
  type ConfirmationTerms,
  confirm,
  type Payment,
  type PaymentTerms,
  pay,
} from './approvals.ts';
import type { AskOptions } from './ask.ts';
import { type Authorization, type AuthorizeOptions, authorize } from './authorize.ts';
import { type CredentialRequest, type CredentialVerb, credential } from './credential.ts';
import { createFormVerb, type FormVerb } from './form.ts';
import { type ToolRun, withHandledRejection } from './tool-run.ts';

/**
 * The verbs of `ctx.gate`. A verb returns immediately if the answer is known from an earlier run of the call, or from a lasting
 * connection or credential. Otherwise it asks the user and does not return: it suspends the handler with an error that must not
 * be swallowed (see `isElicitationPending`), and the handler runs again from its start when the MCP client retries. Put side
 * effects after the last verb, or make them idempotent.
 *
 * Every verb may throw
 * - `ElicitationFailedError` when the interaction failed
 * - `ElicitationTimeoutError` after `timeoutMs`
 * - `CapabilityMissingError` if the MCP client cannot ask and `missingCapability` is `error`
 * - `GatewayError` when the gateway refuses or cannot be reached
 * - `SubjectUnavailableError` when the request has no verified user
 * - `PosternUsageError` `invalid_ask`
 */
export interface GateContext {
  /** Access to the user's account at a provider. The connection stays until it is disconnected. */
  authorize(provider: string, options?: AuthorizeOptions): Promise<Authorization>;
  /** The user's approval of exactly these payment terms. Every call needs its own approval. */
  pay(terms: PaymentTerms, options?: AskOptions): Promise<Payment>;
  /** The user's binding confirmation. Every call needs its own confirmation. */
  confirm(terms: ConfirmationTerms, options?: AskOptions): Promise<Confirmation>;
  /** An API key or password, entered on a page and never visible to the MCP client or the model. */
  readonly credential: CredentialVerb;
  /**
   * A form, shown by the MCP client if it can, otherwise on a page. Not for secrets or approvals.
   *
   * @throws {FormContentError} if the content is invalid
   */
  readonly form: FormVerb;
}

export function createGateContext(run: ToolRun): GateContext {
  return {
    authorize: (provider, options) => withHandledRejection(authorize(run, provider, options)),
    pay: (terms, options) => withHandledRejection(pay(run, terms, options)),
    confirm: (terms, options) => withHandledRejection(confirm(run, terms, options)),
    // One implementation for both overloads; the result type follows from `retention`.
    credential: ((request: CredentialRequest, options?: AskOptions) =>
      withHandledRejection(credential(run, request, options))) as CredentialVerb,
    get form() {
      return createFormVerb(run);
    },
  };
}
