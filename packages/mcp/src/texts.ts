interface ProviderNames {
  /** As the gateway is configured. */
  readonly provider: string;
  /** As people know it; the same as `provider` as long as the gateway has not said it. */
  readonly providerName: string;
}

/** What is being said, with the facts to say it. */
export type TextContext = ProviderNames &
  /** Shown by the MCP client beside the URL, before the user decides to open it. */
  (
    | { readonly kind: 'ask'; readonly matchCode: string }
    /** The call ends while the user is still busy; a model passes this on, so it carries the link. */
    | {
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
  );

/** Writes everything this package says to users. Replace it to translate; keep the match code in `ask` and `unfinished`. */
export type TextFunction = (context: TextContext) => string;

export const englishTexts: TextFunction = context => {
  const account = `${context.providerName} account`;
  switch (context.kind) {
    case 'ask':
      return `Connect your ${account} to continue. Code on the page: ${context.matchCode}`;
    case 'unfinished':
      return (
        `The user has to connect their ${account} first. Show them this link: ${context.url}\n` +
        `Code on the page: ${context.matchCode}. The link works until ${context.expiresAt}.\n` +
        'When the user has finished in the browser, call this tool again with the same arguments.'
      );
    case 'declined':
      return `The user declined to connect their ${account}. Nothing was done.`;
    case 'cancelled':
      return `The request to connect the ${account} was cancelled. Nothing was done.`;
    case 'expired':
      return `The request to connect the ${account} expired before the user finished. Nothing was done.`;
    case 'client_declined':
      return `The app declined to open the page that connects the ${account}. Nothing was done.`;
    case 'client_cancelled':
      return `The app closed the request to connect the ${account}. Nothing was done.`;
    case 'client_incapable':
      return `The user has to connect their ${account} in a browser, but this app cannot open links for tools.`;
    case 'waiting':
      return `Waiting for the user to connect their ${account}`;
  }
};
