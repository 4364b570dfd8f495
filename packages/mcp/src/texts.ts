import type { FormContentFault } from './errors.ts';
import { amountText } from './minor-units.ts';

/** What the user is asked. */
export type About =
  | {
      readonly kind: 'authorization';
      /** As the gateway is configured. */
      readonly provider: string;
      /** As people know it; the same as `provider` as long as the gateway has not said it. */
      readonly providerName: string;
    }
  | {
      readonly kind: 'payment';
      readonly payee: string;
      /** In the minor unit of an ISO 4217 currency. */
      readonly amount: { readonly currency: string; readonly minorUnits: number };
      readonly reference: string;
    }
  | {
      readonly kind: 'confirmation';
      readonly title: string;
      readonly danger: 'normal' | 'caution' | 'destructive';
    }
  | { readonly kind: 'credential'; readonly name: string; readonly title: string }
  | { readonly kind: 'form'; readonly title: string | undefined };

/** What is being said, with the facts to say it. */
export type TextContext = { readonly about: About } & (
  | {
      /** Shown by the MCP client beside the URL, before the user decides to open it. */
      readonly kind: 'ask';
      readonly matchCode: string;
    }
  | {
      /** The call ends while the user is still busy; a model passes this on, so it carries the link. */
      readonly kind: 'unfinished';
      readonly matchCode: string;
      readonly url: string;
      readonly expiresAt: string;
    }
  | {
      readonly kind: 'declined' | 'cancelled' | 'expired' | 'client_declined' | 'client_cancelled';
    }
  /** The MCP client cannot open URLs and `missingCapability` is `error`. */
  | { readonly kind: 'client_incapable' }
  /** Progress, while a retry is held. */
  | { readonly kind: 'waiting' }
  | {
      /** Shown by the MCP client above a form of its own. */
      readonly kind: 'question';
      /** The text that the handler wrote for it. */
      readonly message: string | undefined;
      /** Why the last answer was not taken; empty the first time. */
      readonly faults: readonly FormContentFault[];
    }
);

/**
 * Writes everything this package says to users. Replace it to translate; keep the match code in `ask` and `unfinished`, and what
 * is asked in both.
 */
export type TextFunction = (context: TextContext) => string;

export const englishTexts: TextFunction = context => {
  const { ask, todo } = phrases(context.about);
  switch (context.kind) {
    case 'ask':
      return `${sentence(ask)} Code on the page: ${context.matchCode}`;
    case 'unfinished':
      return (
        `The user has to ${todo} first. Show them this link: ${context.url}\n` +
        `Code on the page: ${context.matchCode}. The link works until ${context.expiresAt}.\n` +
        'When the user has finished in the browser, call this tool again with the same arguments.'
      );
    case 'declined':
      return `The user declined to ${todo}. Nothing was done.`;
    case 'cancelled':
      return `The request to ${todo} was cancelled. Nothing was done.`;
    case 'expired':
      return `The request to ${todo} expired before the user finished. Nothing was done.`;
    case 'client_declined':
      return `The app declined to open the page on which to ${todo}. Nothing was done.`;
    case 'client_cancelled':
      return `The app closed the request to ${todo}. Nothing was done.`;
    case 'client_incapable':
      return `The user has to ${todo} in a browser, but this app cannot open links for tools.`;
    case 'waiting':
      return `Waiting for the user to ${todo}`;
    case 'question': {
      const question = context.message ?? ask;
      if (context.faults.length === 0) return question;
      // Names that were not asked for are the MCP client's own.
      const asked = context.faults
        .filter(({ path, code }) => path !== '' && code !== 'unknown')
        .map(({ path }) => path);
      return `${sentence(question)} The last answer did not fit${asked.length === 0 ? '.' : `: ${asked.join(', ')}`}`;
    }
  }
};

/** To the user, and about the user. */
function phrases(about: About): { readonly ask: string; readonly todo: string } {
  switch (about.kind) {
    case 'authorization':
      return {
        ask: `Connect your ${about.providerName} account to continue`,
        todo: `connect their ${about.providerName} account`,
      };
    case 'payment': {
      const payment = `the payment of ${amountText(about.amount)} to ${about.payee}`;
      return { ask: `Approve ${payment}`, todo: `approve ${payment}` };
    }
    case 'confirmation':
      return { ask: `Confirm: ${about.title}`, todo: `confirm “${about.title}”` };
    case 'credential':
      return { ask: `Enter ${about.title}`, todo: `enter ${about.title}` };
    case 'form':
      return about.title === undefined
        ? { ask: 'Fill in a short form', todo: 'fill in a short form' }
        : { ask: about.title, todo: `answer “${about.title}”` };
  }
}

function sentence(text: string): string {
  return /[.?!…。？！]$/u.test(text) ? text : `${text}.`;
}
