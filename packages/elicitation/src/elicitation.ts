import canonicalize from 'canonicalize';
import { type ConnectionId, type CredentialId, digestOf, type ElicitationId, type Subject } from './ids.ts';

/** A text of an MCP server: in one language that is not named, or in several by language tag (BCP 47). At least one. */
export type LocalText = string | { readonly [language: string]: string };

/** The order in which languages stand in for a missing one, as on the pages. */
const STAND_INS = ['en', 'de', 'fr', 'es', 'ja', 'ar', 'zh-Hans', 'zh-Hant'];

/** Returns the text that a page in this language shows. */
export function textIn(text: LocalText, language?: string): string {
  if (typeof text === 'string') return text;
  const found = [language, ...STAND_INS, ...Object.keys(text)].find(
    tag => tag !== undefined && Object.hasOwn(text, tag),
  );
  return found === undefined ? '' : (text[found] ?? '');
}

/** The kinds of requests. Each has one request shape and one outcome shape. */
export const kinds = ['authorization', 'payment', 'credential', 'confirmation', 'form'] as const;
export type Kind = (typeof kinds)[number];

export interface AuthorizationRequest {
  readonly kind: 'authorization';
  readonly provider: string;
  /** Sorted and without duplicates. */
  readonly scopes: readonly string[];
  /** RFC 8707. */
  readonly resource?: string;
  /** The required account id at the provider, if the tool insists on one. */
  readonly expectedAccount?: string;
}

/** Common to every kind that is requested and answered once. It never changes after issue. */
interface AskedOnce {
  /**
   * SHA-256 (base64url) of the canonical JSON (RFC 8785) of the request, computed at issue. The page recomputes it from its
   * content and the form returns it, so the user agrees to exactly what was requested.
   */
  readonly digest: string;
}

/** A sum in the minor units of an ISO 4217 currency: 1050 EUR is 10.50 euro, 1050 JPY is 1050 yen. */
export interface Amount {
  readonly currency: string;
  readonly minorUnits: number;
}

export interface PaymentItem {
  readonly label: LocalText;
  readonly quantity: number;
  /** Price per piece, in the currency of the payment. Negative for a discount. */
  readonly unitMinorUnits: number;
}

/** The payee, the amount and the items of a payment. */
export interface PaymentTerms {
  readonly payee: { readonly name: string };
  readonly amount: Amount;
  /** Their sum is the amount. */
  readonly items?: readonly PaymentItem[];
  /** The MCP server's reference for the payment, such as an order number. */
  readonly reference: string;
}

export interface PaymentRequest extends AskedOnce {
  readonly kind: 'payment';
  readonly terms: PaymentTerms;
  /** `none`: the approval is the whole result. Otherwise the configured processor that takes the money. */
  readonly processor: string;
  /** The registered account of the payee at the processor, if it has one. Not part of the digest. */
  readonly payeeAccount?: string;
}

export const dangers = ['normal', 'caution', 'destructive'] as const;
export type Danger = (typeof dangers)[number];

/** A fact of a confirmation, rendered according to its type. */
export type Fact = { readonly label: LocalText } & (
  | { readonly type: 'text'; readonly value: LocalText }
  | { readonly type: 'number'; readonly value: number }
  | { readonly type: 'amount'; readonly value: Amount }
  /** RFC 3339. */
  | { readonly type: 'time'; readonly value: string }
  | { readonly type: 'host'; readonly value: string }
);

export interface ConfirmationTerms {
  readonly title: LocalText;
  /** The title as a short verb phrase, for the accepting button. */
  readonly action?: LocalText;
  readonly facts: readonly Fact[];
  /** The arguments of the call that follows: the text of a JSON object, checked before it arrives here. */
  readonly arguments?: string;
  /** What else the yes is for, without being shown. */
  readonly binding?: string;
  readonly danger: Danger;
}

/** As digest and receipt contain them: they bind the arguments, and do not reveal them. */
export type SignedConfirmationTerms = Omit<ConfirmationTerms, 'arguments'> & {
  /** SHA-256 (base64url) of the arguments as canonical JSON, in which numbers keep their text. */
  readonly argumentsDigest?: string;
};

export interface ConfirmationRequest extends AskedOnce {
  readonly kind: 'confirmation';
  readonly terms: ConfirmationTerms;
}

export interface CredentialField {
  /** Name of the value for the MCP server. */
  readonly name: string;
  readonly label: LocalText;
  readonly secret: boolean;
  /** An ECMAScript regular expression that the whole value must match. */
  readonly pattern?: string;
  readonly help?: LocalText;
  readonly example?: LocalText;
  /** Line breaks belong to the value, as in a private key. */
  readonly multiline?: boolean;
  readonly maxLength: number;
}

export interface CredentialRequest extends AskedOnce {
  readonly kind: 'credential';
  /** Name of the credential for the MCP server, such as `acme-api`. */
  readonly name: string;
  readonly title: LocalText;
  readonly fields: readonly CredentialField[];
  /** `lasting`: kept for its owner until it is deleted. `once`: redeemed once, then deleted. */
  readonly retention: 'once' | 'lasting';
  /** The rejected generation of a lasting credential; only a newer one answers. Not part of the digest. */
  readonly rejectedGeneration?: number;
}

/** MCP's restricted JSON Schema, checked before it arrives here. */
export type JsonObject = { readonly [member: string]: JsonValue };
export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject;

export interface FormRequest extends AskedOnce {
  readonly kind: 'form';
  readonly title?: LocalText;
  readonly requestedSchema: JsonObject;
  /** Texts of its properties in several languages, checked before they arrive here. */
  readonly texts?: JsonObject;
  /** Properties that the page masks. */
  readonly secretFields: readonly string[];
}

export type ElicitationRequest =
  | AuthorizationRequest
  | PaymentRequest
  | CredentialRequest
  | ConfirmationRequest
  | FormRequest;

export type RequestOf<K extends Kind> = Extract<ElicitationRequest, { kind: K }>;

/** Returns the provider, or the processor that takes the money, if the request needs one. */
export function providerAsked(request: ElicitationRequest): string | undefined {
  if (request.kind === 'authorization') return request.provider;
  return request.kind === 'payment' && request.processor !== 'none' ? request.processor : undefined;
}

/** How a person approved. */
export interface Approval {
  /** `button`: signed in, and pressed the button. `passkey`: also proved presence and verification with a passkey (WebAuthn). */
  readonly method: 'button' | 'passkey';
  /** How the gateway identified the user. */
  readonly identity: 'login' | 'external' | 'loopback';
  /** Epoch milliseconds. */
  readonly at: number;
  /** When the user last authenticated; epoch milliseconds. Absent in identity mode `loopback`. */
  readonly authTime?: number;
  /** The WebAuthn credential id of the passkey, with method `passkey`. */
  readonly passkey?: string;
  /** When that passkey was added; epoch milliseconds. */
  readonly passkeyAddedAt?: number;
  /** Language of the page on which the user approved (BCP 47). */
  readonly language?: string;
}

export interface AuthorizationOutcome {
  readonly kind: 'authorization';
  readonly connectionId: ConnectionId;
  readonly provider: string;
  /** Granted by the provider; may differ from the request. */
  readonly scopes: readonly string[];
}

/** `test`: the processor only simulated the payment, and no money has moved. */
export type PaymentMode = 'live' | 'test';

export interface PaymentOutcome {
  readonly kind: 'payment';
  /** Digest of the approved terms. */
  readonly digest: string;
  readonly approval: Approval;
  readonly processor: string;
  /** The processor's reference of the payment; absent for `none`. */
  readonly processorReference?: string;
  /** As the processor reports it; absent for `none`. */
  readonly mode?: PaymentMode;
}

export interface ConfirmationOutcome {
  readonly kind: 'confirmation';
  readonly digest: string;
  readonly approval: Approval;
}

export interface CredentialOutcome {
  readonly kind: 'credential';
  readonly name: string;
  /** With retention `lasting`. */
  readonly credentialId?: CredentialId;
}

export interface FormOutcome {
  readonly kind: 'form';
}

export type Outcome = AuthorizationOutcome | PaymentOutcome | ConfirmationOutcome | CredentialOutcome | FormOutcome;

/** Where the user pays, at a processor. The processor is authoritative about its status; this only identifies it. */
export interface Charge {
  /** The processor's reference of the charge. */
  readonly reference: string;
  /** https; contains no secret of ours. */
  readonly url: string;
  /** As the processor reports it. */
  readonly mode?: PaymentMode;
}

type AskedOnceRequest = Exclude<ElicitationRequest, AuthorizationRequest>;
type WithoutDigest<R> = R extends unknown ? Omit<R, 'digest'> : never;

/** A request without its digest. */
export type UndigestedRequest = WithoutDigest<AskedOnceRequest>;

/**
 * Returns the digest of a request: SHA-256 (base64url) of its canonical JSON (RFC 8785). It covers everything that the page shows and
 * that an answer refers to, in every language. It omits the processor of a payment with the payee's account there, and the rejected
 * generation of a credential.
 */
export function askDigest(request: UndigestedRequest): string {
  const canonical = canonicalize(essenceOf(request));
  if (canonical === undefined) throw new TypeError('A request is an object.');
  return digestOf(canonical);
}

export function signedTerms({ arguments: text, ...terms }: ConfirmationTerms): SignedConfirmationTerms {
  return text === undefined ? terms : { ...terms, argumentsDigest: digestOf(canonicalText(text)) };
}

class NumberText {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/** ECMAScript 2026, of which TypeScript knows nothing yet: `source` is the text of a number, string, boolean or null. */
type Reviver = (name: string, value: unknown, context: { readonly source?: string }) => unknown;
const parse = JSON.parse as (text: string, reviver: Reviver) => unknown;

/** Returns canonical JSON (RFC 8785), except that numbers keep their text: `canonicalize` would write `1.0` as `1`. */
function canonicalText(json: string): string {
  const write = (value: unknown): string => {
    if (value instanceof NumberText) return value.text;
    if (value === null || typeof value !== 'object') return JSON.stringify(value);
    if (Array.isArray(value)) return `[${value.map(write).join(',')}]`;
    const members = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
    return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${write(member)}`).join(',')}}`;
  };
  return write(
    parse(json, (_, value, { source }) =>
      typeof value === 'number' && source !== undefined ? new NumberText(source) : value,
    ),
  );
}

function essenceOf(request: UndigestedRequest): object {
  switch (request.kind) {
    case 'payment': {
      const { kind, terms } = request;
      return { kind, terms };
    }
    case 'confirmation':
      return { kind: request.kind, terms: signedTerms(request.terms) };
    case 'credential': {
      const { kind, name, title, fields, retention } = request;
      return { kind, name, title, fields, retention };
    }
    case 'form': {
      const { kind, title, requestedSchema, texts, secretFields } = request;
      return { kind, title, requestedSchema, texts, secretFields };
    }
  }
}

/**
 * Whether `shown` is the digest of this request. Recomputed from the request, because a stored digest alone would also match
 * terms that were changed in the store afterwards.
 */
export function isShownBy(shown: string, request: AskedOnceRequest): boolean {
  return shown === request.digest && shown === askDigest(request);
}

/** How the gateway learns that the browser belongs to the subject (design: "Same person"). */
export const identityModes = ['login', 'external', 'loopback'] as const;
export type IdentityMode = (typeof identityModes)[number];

/** What the MCP server claims about the requester; shown as a claim, never trusted. */
export interface RequestedBy {
  readonly mcpClient?: string;
  readonly tool?: string;
}

/** Why an attempt ended without a result and the user may retry. */
export const retryReasons = [
  'provider_denied',
  'provider_unavailable',
  'provider_refused',
  'wrong_account',
  'fewer_scopes',
  'start_again',
  /** The processor's time limit passed, or the user went back. Nothing was paid. */
  'payment_not_finished',
  /** The live check found that the typed values do not work. */
  'credential_rejected',
  /** The live check was impossible. */
  'check_unavailable',
] as const;
export type RetryReason = (typeof retryReasons)[number];

export const failureCodes = [
  'wrong_person',
  'verification_expired',
  'provider_refused',
  'wrong_account',
  'fewer_scopes',
  /** The processor refuses this payment. Nothing was paid. */
  'processor_refused',
  /** The processor reports another payment than the approved one. The operator must refund it. */
  'payment_mismatch',
] as const;
export type FailureCode = (typeof failureCodes)[number];

/** Current time in epoch milliseconds. The store has its own clock; this one is for values that never reach the store. */
export type Clock = () => number;

export const HOUR_MS = 3_600_000;

/** Returns the UTC day of a time, by which events and refreshes are counted. */
export const dayOf = (at: number): string => new Date(at).toISOString().slice(0, 10);

/** Returns the hour of a time and its UTC day. */
export const hourOf = (at: number): { readonly at: number; readonly day: string } => ({
  at: at - (at % HOUR_MS),
  day: dayOf(at),
});

interface ElicitationBase {
  readonly elicitationId: ElicitationId;
  /** Counts committed transitions, starting at 1. Every write names the version it was decided on. */
  readonly version: number;
  readonly mcpServerId: string;
  readonly identityMode: IdentityMode;
  readonly subject: Subject;
  readonly request: ElicitationRequest;
  readonly message?: LocalText;
  readonly requestedBy?: RequestedBy;
  readonly returnUrl?: string;
  /** The user's language, as the MCP server knows it (BCP 47). */
  readonly locale?: string;
  /** Trace context of the issue request (W3C Trace Context, version 00), if it was traced. Later spans link to it. */
  readonly traceparent?: string;
  /** Epoch milliseconds on the store's clock, like all times here. */
  readonly createdAt: number;
  readonly expiresAt: number;
}

export interface PendingElicitation extends ElicitationBase {
  readonly status: 'pending';
  /** Why the last attempt ended, if there was one. */
  readonly retryReason?: RetryReason;
  /** With `fewer_scopes`: the requested scopes that were not granted. */
  readonly missing?: readonly string[];
}

export interface ActiveElicitation extends ElicitationBase {
  readonly status: 'active';
  /** Digest of the one-time value of the attempt in progress. A response to any other attempt is stale. */
  readonly attempt: string;
  /**
   * For payments that a processor takes: the user has approved. From now on only the processor's result ends it, because the user
   * may have paid.
   */
  readonly approval?: Approval;
  /** Where the user pays, once the processor has returned it. */
  readonly charge?: Charge;
}

export interface VerifyingElicitation extends ElicitationBase {
  readonly status: 'verifying';
  /** Digest of the verification id that the external verifier must present. */
  readonly attempt: string;
}

export interface CompletedElicitation extends ElicitationBase {
  readonly status: 'completed';
  readonly outcome: Outcome;
  readonly endedAt: number;
  /** When the result was redeemed. Absent before that, and for kinds without a result. */
  readonly redeemedAt?: number;
}

export interface FailedElicitation extends ElicitationBase {
  readonly status: 'failed';
  readonly failure: FailureCode;
  readonly endedAt: number;
}

export interface EndedElicitation extends ElicitationBase {
  readonly status: 'declined' | 'cancelled' | 'expired';
  readonly endedAt: number;
}

export type Elicitation =
  | PendingElicitation
  | ActiveElicitation
  | VerifyingElicitation
  | CompletedElicitation
  | FailedElicitation
  | EndedElicitation;

export type ElicitationStatus = Elicitation['status'];
export type TerminalElicitation = CompletedElicitation | FailedElicitation | EndedElicitation;

export function isTerminal(elicitation: Elicitation): elicitation is TerminalElicitation {
  return 'endedAt' in elicitation;
}

export type ElicitationOf<K extends Kind> = Elicitation & { readonly request: RequestOf<K> };

export function isOfKind<K extends Kind>(elicitation: Elicitation, kind: K): elicitation is ElicitationOf<K> {
  return elicitation.request.kind === kind;
}

/** Approved, and sent to a processor or about to be: the user may have paid, even after `expiresAt`. */
export function isCharging(
  elicitation: Elicitation,
): elicitation is ActiveElicitation & ElicitationOf<'payment'> & { readonly approval: Approval } {
  return elicitation.status === 'active' && elicitation.approval !== undefined;
}

/** Whether its completion leaves a result that the MCP server redeems once. A lasting credential is read instead. */
export function isRedeemable(request: ElicitationRequest): boolean {
  switch (request.kind) {
    case 'authorization':
      return false;
    case 'credential':
      return request.retention === 'once';
    default:
      return true;
  }
}

/**
 * Whether this payment completed the elicitation. If a processor reports `paid` and this is false after `settle`, the user paid
 * for nothing, and the operator must refund it.
 */
export function isPaidBy(elicitation: Elicitation, processorReference: string): boolean {
  return (
    elicitation.status === 'completed' &&
    elicitation.outcome.kind === 'payment' &&
    elicitation.outcome.processorReference === processorReference
  );
}

/** Completed with a result that is not redeemed: the user has answered and must not be asked again. */
export function isUnredeemed(elicitation: Elicitation): elicitation is CompletedElicitation {
  return (
    elicitation.status === 'completed' && elicitation.redeemedAt === undefined && isRedeemable(elicitation.request)
  );
}

/** An event without its subject and elicitation. */
export type AuditFact =
  | {
      readonly type:
        | 'issued'
        | 'accepted'
        | 'declined'
        | 'cancelled'
        | 'expired'
        | 'held'
        | 'completed'
        | 'charged'
        | 'redeemed';
    }
  /** The user approved a payment or a confirmation. This completes it, unless a processor takes the payment. */
  | { readonly type: 'approved'; readonly method: Approval['method']; readonly language?: string }
  /** A second request of the same MCP server was added to an open elicitation. `scopes` are the added ones. */
  | { readonly type: 'widened'; readonly scopes: readonly string[] }
  | { readonly type: 'failed'; readonly failure: FailureCode }
  | { readonly type: 'returned'; readonly retryReason: RetryReason }
  /** Another person tried; `visitor` is that person, if known. */
  | { readonly type: 'wrong_person'; readonly visitor?: Subject };

/** An audit event. The recorder adds time and correlation, and decides how to write the subject. */
export type AuditEvent = {
  readonly elicitationId: ElicitationId;
  readonly mcpServerId: string;
  readonly subject: Subject;
} & AuditFact;

/** @param of the elicitation after the event */
export type Audit = (event: AuditEvent, of: Elicitation) => void;

export function about(elicitation: Pick<Elicitation, 'elicitationId' | 'mcpServerId' | 'subject'>) {
  return {
    elicitationId: elicitation.elicitationId,
    mcpServerId: elicitation.mcpServerId,
    subject: elicitation.subject,
  };
}
