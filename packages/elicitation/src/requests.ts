import type { ConnectionId, CredentialId } from './ids.ts';

/** The kinds of ask that exist. Each has one request shape and one outcome shape. */
export const kinds = ['authorization', 'payment', 'credential', 'confirmation', 'form'] as const;
export type Kind = (typeof kinds)[number];

export interface AuthorizationRequest {
  readonly kind: 'authorization';
  readonly provider: string;
  /** Sorted and without repeats. */
  readonly scopes: readonly string[];
  /** RFC 8707. */
  readonly resource?: string;
  /** The account id at the provider that must be connected, if the tool insists on one. */
  readonly expectedAccount?: string;
}

/** What every kind has that is asked once and answered once. It never changes after issue. */
interface AskedOnce {
  /**
   * SHA-256 (base64url) of the canonical JSON (RFC 8785) of what is asked. Made at issue; the page makes it again from what it
   * shows and the form brings that one back, so that nobody agrees to anything but what was asked.
   */
  readonly digest: string;
}

/** A sum in the minor units of an ISO 4217 currency: 1050 EUR is 10.50 euro, 1050 JPY is 1050 yen. */
export interface Amount {
  readonly currency: string;
  readonly minorUnits: number;
}

export interface PaymentItem {
  readonly label: string;
  readonly quantity: number;
  /** Of one piece, in the currency of the payment. Negative for a discount. */
  readonly unitMinorUnits: number;
}

/** What is paid, to whom and for what. */
export interface PaymentTerms {
  readonly payee: { readonly name: string };
  readonly amount: Amount;
  /** They add up to the amount. */
  readonly items?: readonly PaymentItem[];
  /** The MCP server's own name for what is paid, such as an order number. */
  readonly reference: string;
}

export interface PaymentRequest extends AskedOnce {
  readonly kind: 'payment';
  readonly terms: PaymentTerms;
  /** `none`: the approval is all there is. Otherwise the configured processor that takes the money. */
  readonly processor: string;
}

export const dangers = ['normal', 'caution', 'destructive'] as const;
export type Danger = (typeof dangers)[number];

/** A fact of a confirmation, drawn according to its type. */
export type Fact = { readonly label: string } & (
  | { readonly type: 'text'; readonly value: string }
  | { readonly type: 'number'; readonly value: number }
  | { readonly type: 'amount'; readonly value: Amount }
  /** RFC 3339. */
  | { readonly type: 'time'; readonly value: string }
  | { readonly type: 'host'; readonly value: string }
);

export interface ConfirmationTerms {
  readonly title: string;
  readonly facts: readonly Fact[];
  readonly danger: Danger;
}

export interface ConfirmationRequest extends AskedOnce {
  readonly kind: 'confirmation';
  readonly terms: ConfirmationTerms;
}

export interface CredentialField {
  /** Names the value for the MCP server. */
  readonly name: string;
  readonly label: string;
  readonly secret: boolean;
  /** An ECMAScript regular expression that the whole value matches. */
  readonly pattern?: string;
  readonly help?: string;
  readonly example?: string;
  /** Line breaks belong to the value, as in a private key. */
  readonly multiline?: boolean;
  readonly maxLength: number;
}

export interface CredentialRequest extends AskedOnce {
  readonly kind: 'credential';
  /** Names the credential for the MCP server, such as `acme-api`. */
  readonly name: string;
  readonly title: string;
  readonly fields: readonly CredentialField[];
  /** `lasting`: kept for its owner until somebody deletes it. `once`: redeemed once, then gone. */
  readonly retention: 'once' | 'lasting';
  /** The generation of a lasting credential that was turned away; only a newer one answers. Not part of the digest. */
  readonly rejectedGeneration?: number;
}

/** MCP's restricted JSON Schema, checked before it comes here. */
export type JsonObject = { readonly [member: string]: JsonValue };
export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject;

export interface FormRequest extends AskedOnce {
  readonly kind: 'form';
  readonly title?: string;
  readonly requestedSchema: JsonObject;
  /** Properties that are masked on the page. */
  readonly secretFields: readonly string[];
}

export type ElicitationRequest =
  | AuthorizationRequest
  | PaymentRequest
  | CredentialRequest
  | ConfirmationRequest
  | FormRequest;

export type RequestOf<K extends Kind> = Extract<ElicitationRequest, { kind: K }>;

/** How a person approved. */
export interface Approval {
  /** `button`: signed in, and pressed it. `passkey`: also proved presence and verification with a passkey (WebAuthn). */
  readonly method: 'button' | 'passkey';
  /** How the gateway knew who it was. */
  readonly identity: 'login' | 'external' | 'loopback';
  /** Epoch milliseconds. */
  readonly at: number;
  /** When the person last proved who they are; epoch milliseconds. Absent in identity mode `loopback`. */
  readonly authTime?: number;
  /** Which passkey (its WebAuthn credential id), with method `passkey`. */
  readonly passkey?: string;
  /** When that passkey was added; epoch milliseconds. */
  readonly passkeyAddedAt?: number;
}

export interface AuthorizationOutcome {
  readonly kind: 'authorization';
  readonly connectionId: ConnectionId;
  readonly provider: string;
  /** Granted by the provider, which may differ from what was asked. */
  readonly scopes: readonly string[];
}

/** `test`: the processor only pretended, and no money has moved. */
export type PaymentMode = 'live' | 'test';

export interface PaymentOutcome {
  readonly kind: 'payment';
  /** Of the terms that were approved. */
  readonly digest: string;
  readonly approval: Approval;
  readonly processor: string;
  /** The processor's own name for the payment; absent for `none`. */
  readonly processorReference?: string;
  /** As the processor says; absent for `none`, and for payments of releases before. */
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

/**
 * Where a person pays, at a processor. What the processor knows is the truth about it; this only says how to ask.
 */
export interface Charge {
  /** The processor's own name for it. */
  readonly reference: string;
  /** https; holds no secret of ours. */
  readonly url: string;
  /** As the processor says; absent for charges of releases before. */
  readonly mode?: PaymentMode;
}
