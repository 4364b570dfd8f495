import type { Elicitation } from '@postern/elicitation';
import type { AnsweredAbout, WaitingAbout } from '@postern/pages';
import { amountView, type PageViews } from '../pages/page-views.ts';

/** What an open elicitation asks for, as `/me` shows it. */
export function waitingAbout({ request }: Elicitation, views: Pick<PageViews, 'providerName'>): WaitingAbout {
  switch (request.kind) {
    case 'authorization':
      return {
        kind: request.kind,
        providerName: views.providerName(request.provider),
        ...(request.scopes.length === 0 ? {} : { permissions: request.scopes.length }),
      };
    case 'payment':
      return paymentAbout(request);
    case 'confirmation':
      return { kind: request.kind, title: request.terms.title };
    case 'credential':
      return { kind: request.kind, title: request.title };
    case 'form':
      return { kind: request.kind, title: request.title };
  }
}

/** What an ended elicitation was about, as the history shows it. */
export function answeredAbout(elicitation: Elicitation, views: Pick<PageViews, 'providerName'>): AnsweredAbout {
  const about = waitingAbout(elicitation, views);
  return about.kind === 'authorization' ? { kind: about.kind, providerName: about.providerName } : about;
}

function paymentAbout({ terms }: Extract<Elicitation['request'], { kind: 'payment' }>) {
  return { kind: 'payment', amount: amountView(terms.amount), payeeName: terms.payee.name } as const;
}
