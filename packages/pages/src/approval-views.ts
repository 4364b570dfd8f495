/** What the pages of payments and confirmations are told. */

/** A sum of money. */
export interface AmountView {
  /** ISO 4217. */
  readonly currency: string;
  /** A safe integer; 1050 with two decimals is 10.50. */
  readonly minorUnits: number;
  /** How many digits the currency has after the point: 0, 2, 3 or 4 (ISO 4217). */
  readonly decimals: number;
}

export interface PaymentItemView {
  readonly label: string;
  readonly quantity: number;
  /** Of one piece. */
  readonly unit: AmountView;
  /** Of all pieces. */
  readonly total: AmountView;
}

/** The terms of a payment. */
export interface PaymentFactsView {
  readonly payeeName: string;
  readonly amount: AmountView;
  readonly items?: readonly PaymentItemView[];
  /** The MCP server's own name for what is paid. */
  readonly reference: string;
  /** The processor is in its test mode: no money moves. */
  readonly isTest?: boolean;
  /** Who takes the money after the approval; absent where the MCP server collects it itself. */
  readonly processor?: {
    readonly name: string;
    /** Where the person pays, as `displayHost` makes it. */
    readonly host: string;
  };
}

/** A fact of a confirmation, drawn according to its type. */
export type FactView = { readonly label: string } & (
  | { readonly type: 'text'; readonly value: string }
  | { readonly type: 'number'; readonly value: number }
  | { readonly type: 'amount'; readonly value: AmountView }
  /** RFC 3339. Shown in the offset in which it is written. */
  | { readonly type: 'time'; readonly value: string }
  /** As `displayHost` makes it. */
  | { readonly type: 'host'; readonly value: string }
);

/** The terms of a confirmation. */
export interface ConfirmationFactsView {
  /** What the person says yes to, in the MCP server's words. */
  readonly title: string;
  readonly facts: readonly FactView[];
  readonly danger: 'normal' | 'caution' | 'destructive';
}

/** In place of the accepting button: the way to a sign-in that is recent enough. */
export interface SignInAgain {
  readonly signInAgainHref: string;
}
