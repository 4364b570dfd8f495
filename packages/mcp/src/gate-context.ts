import type { AnswerIn, RefusalMode } from './answer.ts';
import {
  type ConfirmationAccepted,
  type ConfirmationTerms,
  confirm,
  type PaymentAccepted,
  type PaymentTerms,
  pay,
} from './approvals.ts';
import type { AskOptions } from './ask.ts';
import { type AuthorizationAccepted, type AuthorizeOptions, authorize } from './authorize.ts';
import { type CredentialRequest, type CredentialVerb, credential } from './credential.ts';
import { createFormVerb, type FormVerb, type YesNoVerb } from './form.ts';
import { type Refund, type RefundOptions, refund } from './refund.ts';
import { type ToolRun, withHandledRejection } from './tool-run.ts';

/**
 * The verbs. A verb returns immediately if the answer is known from an earlier run of the call, or from a lasting connection or
 * credential. Otherwise it asks the user and does not return: it suspends the handler with an error that must not be swallowed (see
 * `isElicitationPending`), and the handler runs again from its start when the MCP client retries. Put side effects after the last
 * verb, or make them idempotent.
 *
 * Every verb may throw
 * - `ElicitationFailedError` when the interaction failed
 * - `ElicitationTimeoutError` after `answerWithinMs`
 * - `CapabilityMissingError` if the MCP client cannot ask and `missingCapability` is `error`
 * - `GatewayError` when the gateway refuses or cannot be reached
 * - `SubjectUnavailableError` when the request has no verified user
 * - `PosternUsageError` `invalid_ask`
 */
export interface Verbs<Mode extends RefusalMode> {
  /** Access to the user's account at a provider. The connection stays until it is disconnected. */
  authorize(provider: string, options?: AuthorizeOptions): Promise<AnswerIn<Mode, AuthorizationAccepted>>;
  /** The user's approval of exactly these payment terms. Every call needs its own approval. */
  pay(terms: PaymentTerms, options?: AskOptions): Promise<AnswerIn<Mode, PaymentAccepted>>;
  /** The user's binding confirmation. Every call needs its own confirmation. */
  confirm(terms: ConfirmationTerms, options?: AskOptions): Promise<AnswerIn<Mode, ConfirmationAccepted>>;
  /** An API key or password, entered on a page and never visible to the MCP client or the model. */
  readonly credential: CredentialVerb<Mode>;
  /**
   * A form, shown by the MCP client if it can, otherwise on a page. Not for secrets or approvals.
   *
   * @throws {FormContentError} if the content is invalid
   */
  readonly form: FormVerb<Mode> & (Mode extends 'returned' ? YesNoVerb : unknown);
}

/** `ctx.gate`. */
export interface GateContext extends Verbs<'returned'> {
  /**
   * The same verbs for a handler that cannot continue without the answer. They return the accepted answer. A refusal ends the call
   * as `return refusal.toToolResult()` does, through the same error that suspends the handler. Without `form.yesNo`, whose "no" is an
   * answer: use `confirm`.
   */
  readonly require: Verbs<'ends-call'>;
  /**
   * Pays back a part of a payment, or all of it, through its processor. Asks nobody, and returns at once: `pending` refunds are settled
   * later. The same amount and reason for the same payment is the same refund, so a repeated tool call pays nothing back twice.
   *
   * @throws {GatewayError} such as `payment_not_paid`, `refund_exceeds_payment` or `payment_disputed`
   * @throws {PosternUsageError} `invalid_ask`
   */
  refund(elicitationId: string, options: RefundOptions): Promise<Refund>;
  /** What the connected MCP client declared. */
  readonly client: ClientModes;
}

/** Modes of elicitation that the connected MCP client declared. False if it did not, or if this request cannot tell (2025-11-25 without a session). */
export interface ClientModes {
  /** It shows forms itself. */
  readonly form: boolean;
  /** It opens links that it is asked to open. Without it, the user gets the link as text. */
  readonly url: boolean;
}

export function createGateContext(run: ToolRun): GateContext {
  const { call, environment } = run;
  return {
    ...createVerbs(run),
    get require() {
      // `toRefusal` throws in this run, so every answer is an accepted one.
      return createVerbs({ ...run, isRequired: true }) as unknown as Verbs<'ends-call'>;
    },
    refund: (elicitationId, options) => withHandledRejection(refund(run, elicitationId, options)),
    client:
      call.era === 'legacy-stateless'
        ? { form: false, url: environment.assumeUrlCapability }
        : { form: call.declaresForm, url: call.declaresUrl },
  };
}

function createVerbs(run: ToolRun): Verbs<'returned'> {
  return {
    authorize: (provider, options) => withHandledRejection(authorize(run, provider, options)),
    pay: (terms, options) => withHandledRejection(pay(run, terms, options)),
    confirm: (terms, options) => withHandledRejection(confirm(run, terms, options)),
    // One implementation for both overloads; the result type follows from `retention`.
    credential: ((request: CredentialRequest, options?: AskOptions) =>
      withHandledRejection(credential(run, request, options))) as CredentialVerb,
    form: createFormVerb(run),
  };
}
