import type { BrowserSession, Elicitation, Visitor } from '@postern/elicitation';

/**
 * What is proven about the browser, in the way this elicitation wants it proven. Undefined: nobody is there, as far as this
 * elicitation is concerned. A sign-in made in another way proves nothing here, so the person is asked to sign in properly
 * instead of being called the wrong one.
 */
export function visitorOf(elicitation: Elicitation, browserSession: BrowserSession | undefined): Visitor | undefined {
  if (elicitation.identityMode === 'loopback') return { kind: 'loopback' };
  if (browserSession === undefined) return undefined;
  const { origin, subject } = browserSession;
  if (elicitation.identityMode === 'login') return 'vouchedBy' in origin ? undefined : { kind: 'signed_in', subject };
  const isVouched = 'vouchedBy' in origin && origin.vouchedBy === elicitation.mcpServerId;
  return isVouched ? { kind: 'signed_in', subject, vouchedBy: origin.vouchedBy } : undefined;
}
