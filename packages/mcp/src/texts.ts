import type { FormContentFault } from './errors.ts';

/** The subject of a text for the user. */
export type About =
  | {
      readonly kind: 'authorization';
      /** The configured name. */
      readonly provider: string;
      /** Display name; equals `provider` until the gateway has returned it. */
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

/** The required text, with its facts. */
export type TextContext = { readonly about: About } & (
  | {
      /** Shown by the MCP client next to the URL, before the user decides to open it. */
      readonly kind: 'ask';
      readonly matchCode: string;
    }
  | {
      /** The call ends while the user is still busy. A model forwards this text, so it contains the link. */
      readonly kind: 'unfinished';
      /** What the MCP client has to request again. */
      readonly request: 'tool' | 'prompt' | 'resource';
      readonly matchCode: string;
      readonly url: string;
      readonly expiresAt: string;
    }
  | {
      readonly kind: 'declined' | 'cancelled' | 'expired' | 'client_declined' | 'client_cancelled';
      /** The handler has received another answer, so it may have done something. */
      readonly mayHaveActed: boolean;
    }
  | {
      /** The user muted this MCP server, so the gateway refused the ask. */
      readonly kind: 'muted';
      readonly mayHaveActed: boolean;
      /** The page on which the user can undo it. */
      readonly undoUrl: string | undefined;
    }
  /** The MCP client cannot open URLs and `missingCapability` is `error`. */
  | { readonly kind: 'client_incapable' }
  /** Progress, while a retry is held. */
  | { readonly kind: 'waiting' }
  | {
      /** Shown by the MCP client above a form that it renders itself. */
      readonly kind: 'question';
      /** The question that the handler wrote. */
      readonly message: string | undefined;
      /** Why the last content was refused; empty at first. */
      readonly faults: readonly FormContentFault[];
    }
);

/**
 * Writes all texts for users. Replace it to translate them. Keep the match code in `ask` and `unfinished`, and the subject of the
 * ask in both.
 */
export type TextFunction = (context: TextContext) => string;

const REPEAT = {
  tool: 'call this tool again with the same arguments',
  prompt: 'request this prompt again with the same arguments',
  resource: 'read this resource again',
};

export const englishTexts: TextFunction = context => {
  const { ask, todo } = phrases(context.about);
  switch (context.kind) {
    case 'ask':
      return `${sentence(ask)} Code on the page: ${context.matchCode}`;
    case 'unfinished':
      return (
        `The user has to ${todo} first. Show them this link: ${context.url}\n` +
        `Code on the page: ${context.matchCode}. The link works until ${context.expiresAt}.\n` +
        `When the user has finished in the browser, ${REPEAT[context.request]}.`
      );
    case 'declined':
      return `The user declined to ${todo}.${nothing(context)}`;
    case 'cancelled':
      return `The request to ${todo} was cancelled.${nothing(context)}`;
    case 'expired':
      return `The request to ${todo} expired before the user finished.${nothing(context)}`;
    case 'muted':
      return (
        `The user muted this MCP server, so it could not ask them to ${todo}.${nothing(context)}` +
        (context.undoUrl === undefined ? '' : ` The user can undo this at ${context.undoUrl}.`)
      );
    case 'client_declined':
      return `The app declined to open the page on which the user can ${todo}.${nothing(context)}`;
    case 'client_cancelled':
      return `The app closed the request to ${todo}.${nothing(context)}`;
    case 'client_incapable':
      return `The user has to ${todo} in a browser, but this app cannot open links for tools.`;
    case 'waiting':
      return `Waiting for the user to ${todo}`;
    case 'question': {
      const question = context.message ?? ask;
      if (context.faults.length === 0) return question;
      // Unknown names come from the MCP client and are not repeated.
      const asked = context.faults
        .filter(({ path, code }) => path !== '' && code !== 'unknown')
        .map(({ path }) => path);
      return `${sentence(question)} The last answer did not fit${asked.length === 0 ? '.' : `: ${asked.join(', ')}`}`;
    }
  }
};

const nothing = ({ mayHaveActed }: { readonly mayHaveActed: boolean }): string =>
  mayHaveActed ? '' : ' Nothing was done.';

/** `ask` addresses the user, `todo` speaks about the user. */
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

/** ISO 4217 currencies whose minor unit is not a hundredth, by number of decimals. `Intl` follows CLDR, which differs. */
const exceptions: Readonly<Record<number, string>> = {
  0: 'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF',
  3: 'BHD IQD JOD KWD LYD OMR TND',
  4: 'CLF UYW',
};

const decimalsByCurrency = new Map(
  Object.entries(exceptions).flatMap(([decimals, codes]) => codes.split(' ').map(code => [code, Number(decimals)])),
);

/** `24.90 EUR`: unambiguous in any language, with all digits. @internal */
export function amountText({
  currency,
  minorUnits,
}: {
  readonly currency: string;
  readonly minorUnits: number;
}): string {
  const decimals = decimalsByCurrency.get(currency) ?? 2;
  const digits = String(minorUnits).padStart(decimals + 1, '0');
  const whole = digits.slice(0, digits.length - decimals);
  return `${decimals === 0 ? whole : `${whole}.${digits.slice(-decimals)}`} ${currency}`;
}
