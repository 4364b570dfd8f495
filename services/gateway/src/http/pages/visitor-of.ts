import type { BrowserSession, Elicitation, Visitor } from '@postern/elicitation';

/** What is proven about the browser, in the way this elicitation wants it proven. Undefined: nobody is signed in. */
export function visitorOf(elicitation: Elicitation, browserSession: BrowserSession | undefined): Visitor | undefined {
  if (elicitation.identityMode === 'loopback') return { kind: 'loopback' };
  if (browserSession === undefined) return undefined;
  const { origin, subject } = browserSession;
  return 'vouchedBy' in origin
    ? { kind: 'signed_in', subject, vouchedBy: origin.vouchedBy }
    : { kind: 'signed_in', subject };
}
