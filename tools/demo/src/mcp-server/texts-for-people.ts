import { type About, englishTexts, type TextFunction } from '@postern/mcp';

/**
 * The texts of tool results, for hosts that show them to their user. The default texts speak about the user, to a model that calls
 * the tool; a model can forward these just as well.
 */
export const textsForPeople: TextFunction = context => {
  const todo = todoOf(context.about);
  switch (context.kind) {
    case 'unfinished':
      return (
        `To go on, ${todo}: ${context.url}\n` +
        `Code on the page: ${context.matchCode}. The link works until ${timeOf(context.expiresAt)}.\n` +
        'When you are done there, ask for this once more.'
      );
    case 'declined':
      return `You declined to ${todo}. Nothing was done.`;
    case 'cancelled':
      return `You no longer have to ${todo}: the request was withdrawn. Nothing was done.`;
    case 'expired':
      return `The time to ${todo} is over. Nothing was done. If you still want it, ask for it once more.`;
    case 'client_declined':
    case 'client_cancelled':
      return `You did not open the page on which to ${todo}. Nothing was done.`;
    case 'client_incapable':
      return `You have to ${todo} in a browser, but this app cannot open links for tools.`;
    case 'muted':
      return (
        `You muted this app, so it could not ask you to ${todo}. Nothing was done.` +
        (context.undoUrl === undefined ? '' : ` You can undo this at ${context.undoUrl}`)
      );
    default:
      return englishTexts(context);
  }
};

/** What the user has to do, as an infinitive. */
function todoOf(about: About): string {
  switch (about.kind) {
    case 'authorization':
      return `connect your ${about.providerName} account`;
    case 'payment':
      return `approve the payment to ${about.payee}`;
    case 'confirmation':
      return `confirm “${about.title}”`;
    case 'credential':
      return `enter your ${about.title}`;
    case 'form':
      return about.title === undefined ? 'fill in a short form' : `answer “${about.title}”`;
  }
}

/** The time of day in the time zone of this machine, which in the demo is that of its user. */
const timeOf = (expiresAt: string): string =>
  new Intl.DateTimeFormat('en', { timeStyle: 'short', hourCycle: 'h23' }).format(new Date(expiresAt));
