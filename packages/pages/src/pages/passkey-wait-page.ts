import { layout } from '../layout.ts';
import { type PaymentWaitView, paymentWait } from '../payment-wait.ts';
import { timeText } from '../times.ts';
import { translatorFor } from '../translator.ts';
import type { PageContext } from '../views.ts';

export interface PasskeyWaitView extends PaymentWaitView {
  /** Time from which the user's passkey can approve this payment. */
  readonly countsFrom: Date;
}

/** Says when a passkey can approve a payment of this size. */
export function passkeyWaitPage(context: PageContext, view: PasskeyWaitView): string {
  const t = translatorFor(context);
  const lead = [
    t.html('passkeyWait.from', { time: timeText(view.countsFrom, 'moment', t) }),
    t.html('passkeyWait.why', { brand: context.branding.name }),
  ];
  const main = paymentWait(view, { key: 'passkeyWait.heading', lead }, t);
  return layout(context, t, { title: t.plain('passkeyWait.heading'), main });
}
