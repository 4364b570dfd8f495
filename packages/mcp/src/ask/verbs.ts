import type {
  ApprovalBody,
  ConfirmationRequestInput,
  CredentialRequestInput,
  LocalText,
  PaymentRequestInput,
  PropertyTexts,
  RefundBody,
  RefundRequestBody,
} from '@postern/api';
import type { MissingCapability } from '../run/run.ts';
import type { PlainToolResult } from '../run/tool-call.ts';
import type { FormInput, FormOutput, FormSchema } from './form-schema.ts';

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
  confirm(terms: ConfirmationTerms, options?: ConfirmOptions): Promise<AnswerIn<Mode, ConfirmationAccepted>>;
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

/** The user declined (`declined`), or the MCP client did not open the page (`client_declined`). */
export interface Declined {
  readonly action: 'decline';
  readonly reason: 'declined' | 'client_declined';
  /** Returns a plain, accurate result, which the tool can return. It is no error, unless the tool has an output schema. */
  toToolResult(): PlainToolResult;
}

/** No decision: cancelled through the API or in a form of the MCP client, expired, or dismissed in the MCP client. */
export interface Cancelled {
  readonly action: 'cancel';
  readonly reason: 'cancelled' | 'expired' | 'client_cancelled';
  /** Returns a plain, accurate result with `isError`, which the tool can return. */
  toToolResult(): PlainToolResult;
}

/** Result of every verb; `action` tells the cases apart. */
export type AnswerTo<Accepted extends { readonly action: 'accept' }> = Accepted | Declined | Cancelled;

/** Whether a verb returns a refusal, or ends the call with it. */
export type RefusalMode = 'returned' | 'ends-call';

/** What a verb returns in this mode. */
export type AnswerIn<
  Mode extends RefusalMode,
  Accepted extends { readonly action: 'accept' },
> = Mode extends 'ends-call' ? Accepted : AnswerTo<Accepted>;

/** Members of every result that can be redeemed once. */
export interface TakenOnce {
  readonly action: 'accept';
  readonly elicitationId: string;
  /**
   * Identifies this answer; the same in every run that receives it. Use it as the key of the effect (an `Idempotency-Key`, a
   * unique column): a retried, duplicated or repeated call receives the same answer and must not cause the effect twice.
   */
  readonly idempotencyKey: string;
}

/** Options of every verb. */
export interface AskOptions {
  /** One line of plain text (300 characters), or one per language, quoted on the page as coming from this MCP server. */
  readonly message?: LocalText;
  /** Time limit for the user in seconds, 10 to 86,400. Default: the gateway's. */
  readonly ttlSeconds?: number;
  /** Link target on the last page; must be registered at the gateway. */
  readonly returnUrl?: string;
  /** Language of the user as a BCP 47 tag, such as `de`. A choice that the user made on a page of the gateway comes first. */
  readonly locale?: string;
  /** Stops waiting. The elicitation stays open. Does not apply to later requests of the answer, such as those of `fetch`. */
  readonly signal?: AbortSignal;
  /**
   * How long the user may take, in milliseconds, from when this call first asked. While there is no answer after this time, the verb
   * throws `ElicitationTimeoutError`. The elicitation stays open, and an answer that the call already has counts. Default: as long
   * as the MCP client retries.
   */
  readonly answerWithinMs?: number;
  /** The response to an MCP client that cannot open links, for this ask. Default: the option of the gate. */
  readonly missingCapability?: MissingCapability;
}

export interface ConfirmOptions extends AskOptions {
  /**
   * Only one run gets the answer: a retry that repeats the call after this run, also on another replica, asks again. For an effect that
   * has no key which makes it happen once. Ask nothing after it.
   */
  readonly singleUse?: true;
}

export interface AuthorizeOptions extends AskOptions {
  /** Default: the provider's default scopes in the gateway's configuration. */
  readonly scopes?: readonly string[];
  /** RFC 8707 resource indicator. */
  readonly resource?: string;
  /** Required account id at the provider. */
  readonly expectedAccount?: string;
}

/** The user has connected the account. */
export interface AuthorizationAccepted {
  readonly action: 'accept';
  readonly connectionId: string;
  /** Granted scopes, which may differ from the requested ones. */
  readonly scopes: readonly string[];
  /**
   * Returns a fresh access token from the gateway. Keep it in memory and out of results and logs. If the provider has ended the
   * authorization, the user is asked again and the handler is suspended. DPoP-bound tokens (RFC 9449) work only with `fetch`,
   * which adds the proof.
   *
   * @throws {GatewayError}
   */
  accessToken(options?: AccessTokenOptions): Promise<string>;
  /**
   * `fetch` with a fresh access token, and with a proof if the provider binds its tokens to a key (RFC 9449). After a 401 the
   * token is refreshed and the request repeated once, unless its body is a stream; a second 401 is returned, and so is a 401 with another
   * error, such as `insufficient_scope`. If the token cannot be refreshed, the user is asked again and the handler is suspended.
   * Redirects are errors unless `init` allows them. Does not use `this`, so it can be passed to libraries.
   *
   * @throws {GatewayError}
   * @throws {PosternUsageError} `invalid_url` for a URL that would receive the token unencrypted; `host_not_allowed` for a host
   * that is not among the configured `apiHosts` of the provider
   */
  readonly fetch: ApiFetch;
  /**
   * Returns the additional parameters of the provider's callback that the operator named (`callbackMembers`), such as `realmId` of
   * QuickBooks. The user's browser delivered them. May ask the user again, like `accessToken`.
   *
   * @throws {GatewayError}
   */
  callbackMembers(): Promise<Readonly<Record<string, string>>>;
}

export type Authorization = AnswerTo<AuthorizationAccepted>;

export interface AccessTokenOptions {
  readonly signal?: AbortSignal;
  /**
   * Token of this connection that the provider's API rejected (401). Report it only if the API rejected the token itself: if the provider
   * refuses to refresh it, the connection ends and the user is asked again. The gateway refreshes unless it has a newer token set.
   */
  readonly rejected?: string;
}

/** A drop-in replacement for `fetch` in libraries that accept one. */
export type ApiFetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;

/** Payee, amount in minor units, items that add up to it, your reference; and the processor, if several are configured. */
export type PaymentTerms = PaymentRequestInput;

/** The user has approved the payment; with a processor, it is paid. */
export interface PaymentAccepted extends Approved {
  /** `none`: nothing is paid yet, the approval allows you to charge. */
  readonly processor: string;
  /** The payment's reference at the processor. */
  readonly processorReference: string | undefined;
  /** As reported by the processor. `test`: no money has moved. Undefined without a processor. */
  readonly mode: 'live' | 'test' | undefined;
}

export type Payment = AnswerTo<PaymentAccepted>;

/** The content of a confirmation: a title, or a title with an action for the button, facts and a level of danger. */
export type ConfirmationTerms = string | ConfirmationRequestInput;

/** The user has confirmed. */
export type ConfirmationAccepted = Approved;

export type Confirmation = AnswerTo<ConfirmationAccepted>;

/** A user's approval, with proof. */
export interface Approved extends TakenOnce {
  /**
   * The gateway's signed record (JWS) of the approver, the terms, the time and the method. `createReceiptVerifier` verifies it
   * offline at any time.
   */
  readonly receipt: string;
  /** SHA-256 (base64url) of the canonical JSON (RFC 8785) of the kind and the terms that were approved. */
  readonly digest: string;
  readonly approval: ApprovalBody;
}

export interface RefundOptions extends RefundRequestBody {
  /**
   * Names the refund: the same key of the same payment is the same refund. Default: derived from amount and reason, so that a repeated tool
   * call refunds nothing twice. Pass your own to make a second refund of the same amount and reason.
   */
  readonly idempotencyKey?: string;
}

/** `pending`: the processor has not confirmed it yet. `failed`: nothing was paid back. */
export type Refund = RefundBody;

export interface CredentialVerb<Mode extends RefusalMode = 'returned'> {
  <const F extends Fields>(
    request: CredentialRequest<F> & { readonly retention: 'lasting' },
    options?: AskOptions,
  ): Promise<AnswerIn<Mode, LastingCredentialAccepted<ValuesOf<F>, Mode>>>;
  <const F extends Fields>(
    request: CredentialRequest<F> & { readonly retention?: 'once' },
    options?: AskOptions,
  ): Promise<AnswerIn<Mode, CredentialAccepted<ValuesOf<F>>>>;
}

/** The fields that the user must enter. Each field's `name` becomes a key of `values`. */
export type CredentialRequest<F extends Fields = CredentialRequestInput['fields']> = Omit<
  CredentialRequestInput,
  'fields' | 'retention' | 'rejectedGeneration'
> & {
  readonly fields: F & readonly CredentialRequestInput['fields'][number][];
  readonly retention?: 'once' | 'lasting';
};

type Fields = readonly { readonly name: string }[];
type ValuesOf<F extends Fields> = { readonly [N in F[number]['name']]: string };

/** Values that the gateway returns once and does not keep. */
export interface CredentialAccepted<Values> extends TakenOnce {
  /** By the name of the field. Keep them in memory, out of results and logs. */
  readonly values: Values;
}

export type Credential<Values> = AnswerTo<CredentialAccepted<Values>>;

/** Values that the gateway keeps for the user. */
export interface LastingCredentialAccepted<Values, Mode extends RefusalMode = 'returned'> {
  readonly action: 'accept';
  readonly credentialId: string;
  /** Version of the values; it grows with every replacement. */
  readonly generation: number;
  /** By the name of the field. Keep them in memory for this call, out of results and logs. */
  readonly values: Values;
  /**
   * Reads the current values, which the user may have replaced.
   *
   * @throws {GatewayError} `not_found` once the credential was deleted
   */
  read(): Promise<Values>;
  /**
   * Reports that the service rejected these values. Returns newer values if there are any; otherwise asks the user, which suspends
   * the handler. The rejected values are discarded, so do not call it for other failures.
   */
  rejected(): Promise<AnswerIn<Mode, LastingCredentialAccepted<Values, Mode>>>;
  /** Deletes the credential at the gateway. */
  remove(): Promise<void>;
}

export type LastingCredential<Values> = AnswerTo<LastingCredentialAccepted<Values>>;

/**
 * `form(schema)` asks for an object; `form.text`, `form.yesNo` and `form.choice` ask for one value. All of them return a
 * union on `action`.
 *
 * Members of the schema are strings (in zod also `z.email()`, `z.url()`, `z.iso.date()`, `z.iso.datetime({ offset: true })`), numbers,
 * booleans, enums, arrays of enums, and unions of titled literals. `optional`, `default`, `describe` and `meta({ title })` work as usual.
 * `regex()` without flags becomes a `pattern`, which the gateway matches as RE2 (no look-around, no back-references). A form with a pattern
 * opens a page: matching it here could take exponential time. A schema that MCP cannot express is refused before anything is sent.
 * Refinements and transformations apply to the returned content. Invalid content of an MCP client is asked for once more.
 */
export interface FormVerb<Mode extends RefusalMode = 'returned'> {
  <Schema extends FormSchema>(
    schema: Schema,
    options?: FormOptions<Extract<keyof FormInput<Schema>, string>>,
  ): Promise<AnswerIn<Mode, FormAccepted<FormOutput<Schema>>>>;
  /** Asks for one non-empty line of text. */
  text(question: LocalText, options?: AskOptions): Promise<AnswerIn<Mode, OneValueAccepted<string>>>;
  /** Asks for one option of a list. */
  choice<const Option extends string>(
    question: LocalText,
    options: readonly Option[],
    askOptions?: AskOptions,
  ): Promise<AnswerIn<Mode, OneValueAccepted<Option>>>;
}

export interface YesNoVerb {
  /** Asks for yes or no; both are accepted answers. For an approval with a receipt use `confirm`. */
  yesNo(question: LocalText, options?: AskOptions): Promise<OneValue<boolean>>;
}

export interface FormOptions<Name extends string = string> extends AskOptions {
  /** Title of the form, above its fields (120 characters), or one per language. */
  readonly title?: LocalText;
  /**
   * Titles, descriptions and options of fields in several languages, by the name of the field. They replace those of the schema, which
   * has one language.
   */
  readonly texts?: { readonly [Field in Name]?: PropertyTexts };
  /**
   * Masked fields. A form with secret fields always opens as a page of the gateway, so the MCP client does not see the input. Use
   * `credential` for keys and passwords that should be kept. Default: the text fields whose name, title or description speaks of a
   * password, key, token or code; `[]` says that none is secret. A number that looks like a PIN or code opens a page too, unmasked.
   */
  readonly secretFields?: readonly Name[];
}

/** The user has filled in the form. */
export interface FormAccepted<Content> {
  readonly action: 'accept';
  /** Checked against the schema, with its defaults and transformations. */
  readonly content: Content;
  /** Where the user filled in the form. An answer of the MCP client does not prove that the user gave it. */
  readonly by: 'mcp-client' | 'page';
  /** Undefined if the MCP client showed the form. */
  readonly elicitationId: string | undefined;
  /** Identifies this answer; the same in every run that receives it. */
  readonly idempotencyKey: string;
}

export type Form<Content> = AnswerTo<FormAccepted<Content>>;

/** The user has filled in a form of one field. */
export type OneValueAccepted<Value> = Omit<FormAccepted<unknown>, 'content'> & { readonly value: Value };

/** The answer to a form of one field. */
export type OneValue<Value> = AnswerTo<OneValueAccepted<Value>>;
