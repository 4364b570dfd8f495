/** View data of the payment and confirmation pages. */

import type { ForeignText } from './foreign-text.ts';

/** An amount of money. */
export interface AmountView {
  /** ISO 4217. */
  readonly currency: string;
  /** A safe integer; 1050 with two decimals is 10.50. */
  readonly minorUnits: number;
  /** Number of decimals of the currency: 0, 2, 3 or 4 (ISO 4217). */
  readonly decimals: number;
}

export interface PaymentItemView {
  readonly label: ForeignText;
  readonly quantity: number;
  /** Price of one item. */
  readonly unit: AmountView;
  /** Price of all items. */
  readonly total: AmountView;
}

/** The terms of a payment. */
export interface PaymentFactsView {
  readonly payeeName: string;
  /** The MCP server, and the brand, where only the MCP server names the payee, and the operator has not registered it. */
  readonly payeeNamedBy?: { readonly mcpServer: ForeignText; readonly brand: ForeignText };
  readonly amount: AmountView;
  readonly items?: readonly PaymentItemView[];
  /** The MCP server's description of the payment. */
  readonly reference: string;
  /** Whether the processor is in test mode, in which no money moves. */
  readonly isTest?: boolean;
  /** The processor of the payment; absent if the MCP server collects it itself. */
  readonly processor?: {
    readonly name: string;
    /** Host where the user pays, in the form of `displayHost`. */
    readonly host: string;
  };
}

/** A fact of a confirmation, rendered by its type. */
export type FactView = { readonly label: ForeignText } & (
  | { readonly type: 'text'; readonly value: ForeignText }
  | { readonly type: 'number'; readonly value: number }
  | { readonly type: 'amount'; readonly value: AmountView }
  /** RFC 3339. Shown in its own offset. */
  | { readonly type: 'time'; readonly value: string }
  /** In the form of `displayHost`. */
  | { readonly type: 'host'; readonly value: string }
);

/** A text that is shown whole. At odd indexes are invisible characters, whose code points are shown instead. */
export type WholeText = readonly string[];

/** A value among the arguments of a call. */
export type ArgumentView =
  | { readonly type: 'object'; readonly members: readonly ArgumentMember[] }
  | { readonly type: 'array'; readonly elements: readonly ArgumentView[] }
  | { readonly type: 'string'; readonly text: WholeText }
  /** As sent: `1.0`, `1e2`. */
  | { readonly type: 'number' | 'boolean' | 'null'; readonly text: string }
  /** A secret by its name, which the page must not contain. */
  | { readonly type: 'hidden' };

export type ArgumentMember = readonly [name: WholeText, value: ArgumentView];

/** The terms of a confirmation. */
export interface ConfirmationFactsView {
  /** The action that the user confirms, in the MCP server's words. */
  readonly title: ForeignText;
  /** The same as a short verb phrase, for the accepting button. */
  readonly action?: ForeignText;
  readonly facts: readonly FactView[];
  /** What is sent after a yes. */
  readonly arguments?: readonly ArgumentMember[];
  readonly danger: 'normal' | 'caution' | 'destructive';
}

/** Replaces the accepting button with a link to a recent sign-in. */
export interface SignInAgain {
  readonly signInAgainHref: string;
}
