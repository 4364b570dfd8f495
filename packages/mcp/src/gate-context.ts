import { z } from 'zod/v4';
import type { AnswerIn, RefusalMode } from './answer.ts';
import {
  type ConfirmationAccepted,
  type ConfirmationTerms,
  confirm,
  type PaymentAccepted,
  type PaymentTerms,
  pay,
} from './approvals.ts';
import { type AskOptions, parseTerms } from './ask.ts';
import { type AuthorizationAccepted, type AuthorizeOptions, authorize } from './authorize.ts';
import { type CredentialRequest, type CredentialVerb, credential } from './credential.ts';
import { createFormVerb, type FormVerb, type YesNoVerb } from './form.ts';
import { type Refund, type RefundOptions, refund } from './refund.ts';
import { forHandler, type ToolRun } from './tool-run.ts';

/**
 * The verbs. A verb returns immediately if the answer is known from an earlier run of the call, or from a lasting connection or
 * credential. Otherwise it asks the user and does not return: it suspends the handler with an error that must not be swallowed (see
 * `isElicitationPending`), and the handler runs again from its start when the MCP client retries. Await every verb. Put side effects
 * after the last one, or make them idempotent; ask with the same terms in every run (see `id` and `now`).
 *
 * Every verb may throw
 * - `ElicitationFailedError` when the interaction failed
 * - `ElicitationTimeoutError` after `answerWithinMs`
 * - `CapabilityMissingError` if the MCP client cannot ask and `missingCapability` is `error`
 * - `GatewayError` when the gateway refuses or cannot be reached
 * - `SubjectUnavailableError` when the request has no verified user
 * - `PosternUsageError` `invalid_ask`, and `terms_changed` for terms that differ from those of an earlier run of the call
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

/**
 * `ctx.gate`. A refusal ends the call, as `return refusal.toToolResult()` does, through the same error that suspends the handler: what
 * follows a verb runs only if the user has accepted.
 */
export interface GateContext extends Verbs<'ends-call'> {
  /** The same verbs for a handler that goes on after a refusal: they return it, and `action` tells the cases apart. */
  readonly try: Verbs<'returned'>;
  /**
   * An id of this call (UUID): the same in every run of the call, another one for every name and for the next call. Use it for what
   * must not change between the runs, such as the reference of a payment; a random value would be other terms in each run.
   * Use it whole: a payment whose terms have it is cancelled if a result of the handler leaves it open.
   */
  id(name: string): string;
  /** When this call began, in epoch milliseconds: the same in every run of the call, where `Date.now()` differs. */
  now(): number;
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
  const { call, environment, log } = run;
  return {
    // A refusal throws in this run, so every answer is an accepted one.
    ...(createVerbs(run) as unknown as Verbs<'ends-call'>),
    get try() {
      return createVerbs({ ...run, returnsRefusals: true });
    },
    id: name => log.id(parseTerms('id', nameSchema, name)),
    now: () => log.now(),
    refund: forHandler(run, (elicitationId: string, options: RefundOptions) => refund(run, elicitationId, options)),
    client:
      call.era === 'legacy-stateless'
        ? { form: false, url: environment.assumeUrlCapability }
        : { form: call.declaresForm, url: call.declaresUrl },
  };
}

const nameSchema = z.string().min(1);

function createVerbs(run: ToolRun): Verbs<'returned'> {
  return {
    authorize: forHandler(run, (provider: string, options?: AuthorizeOptions) => authorize(run, provider, options)),
    pay: forHandler(run, (terms: PaymentTerms, options?: AskOptions) => pay(run, terms, options)),
    confirm: forHandler(run, (terms: ConfirmationTerms, options?: AskOptions) => confirm(run, terms, options)),
    // One implementation for both overloads; the result type follows from `retention`.
    credential: forHandler(run, (request: CredentialRequest, options?: AskOptions) =>
      credential(run, request, options),
    ) as CredentialVerb,
    form: createFormVerb(run),
  };
}
