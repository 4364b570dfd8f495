import { type Elicitation, isCharging } from '@postern/elicitation';
import type { WatchView } from '@postern/pages';
import { elicitationPath } from '../platform/http/public-urls.ts';

/** Returns what the page of an elicitation is about. When this changes, a page in a browser is out of date. */
export function pagePhase(elicitation: Elicitation, now: number): string {
  const { status, expiresAt } = elicitation;
  if (status !== 'pending' && status !== 'active') return status;
  if (isCharging(elicitation)) return 'charge';
  return expiresAt <= now ? 'expired' : 'decision';
}

/** Lets the page of an elicitation find out that it is out of date. */
export function watchOf(elicitation: Elicitation, now: number): WatchView {
  const pageHref = elicitationPath(elicitation.elicitationId);
  return { pageHref, statusHref: `${pageHref}/status`, phase: pagePhase(elicitation, now) };
}
