import { layout } from '../layout.ts';
import { paymentWait } from '../payment-wait.ts';
import { timeText } from '../times.ts';
import { translatorFor } from '../translator.ts';
import type { PageContext } from '../views.ts';
import type { PasskeyWaitView } from './passkey-wait-page.ts';

export interface DailyLimitView extends Omit<PasskeyWaitView, 'countsFrom'> {
  /** When the payment will be within the limit; absent if the payment alone exceeds the limit. */
  readonly from?: Date;
}

/** Says that the user has reached the daily limit, and when they can approve this payment. */
export function dailyLimitPage(context: PageContext, view: DailyLimitView): string {
  const t = translatorFor(context);
  const why = t.html('dailyLimit.why', { brand: context.branding.name, mcpServer: view.mcpServer.name });
  const lead =
    view.from === undefined ? [why] : [why, t.html('dailyLimit.from', { time: timeText(view.from, 'moment', t) })];
  const main = paymentWait(view, { key: 'dailyLimit.heading', lead }, t);
  return layout(context, t, { title: t.plain('dailyLimit.heading'), main });
}
