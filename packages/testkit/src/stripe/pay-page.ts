import type { CheckoutSessions } from './checkout-sessions.ts';
import type { StripeSession } from './stripe-objects.ts';
import type { SessionRequest } from './stripe-session-request.ts';

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, character => entities[character] ?? '');
}

function page(title: string, content: string): string {
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escapeHtml(title)}</title></head>
<body>
<main>
<h1>${escapeHtml(title)}</h1>
${content}
</main>
</body>
</html>
`;
}

export type PageAnswer =
  | { readonly status: 200 | 404 | 410; readonly html: string }
  | { readonly status: 303; readonly location: string };

/** The payment page: its response, and the effect of its buttons. */
export function answerPayPage(
  checkout: CheckoutSessions,
  p: { readonly id: string; readonly method: string; readonly body: string },
): PageAnswer {
  const session = checkout.all().find(({ id }) => id === p.id);
  if (!session) return { status: 404, html: errorPage('unknown') };
  const goTo = (url: string): PageAnswer => ({
    status: 303,
    location: url.replace('{CHECKOUT_SESSION_ID}', encodeURIComponent(p.id)),
  });
  // A user who returns after paying, or submits twice, is redirected as after paying.
  if (session.status === 'complete') return goTo(session.success_url);
  if (session.status === 'expired') return { status: 410, html: errorPage('expired') };
  const decision = p.method === 'POST' ? new URLSearchParams(p.body).get('decision') : undefined;
  if (decision === 'cancel') return goTo(session.cancel_url ?? session.success_url);
  if (decision !== 'pay') return { status: 200, html: payPage(session, checkout.itemsOf(p.id)) };
  checkout.pay(p.id);
  return goTo(session.success_url);
}

/** Amounts are in Stripe's units, unformatted. */
function payPage(session: StripeSession, items: SessionRequest['items']): string {
  const currency = session.currency.toUpperCase();
  const rows = items
    .map(({ name, quantity, unitAmount }) => `<li>${quantity} × ${escapeHtml(name)}: ${unitAmount} ${currency}</li>`)
    .join('\n');
  return page(
    'Imitation of Stripe Checkout',
    `<ul>
${rows}
</ul>
<p>Total <b id="total">${session.amount_total} ${currency}</b>, in the smallest unit of Stripe</p>
<form method="post">
<p><button id="cancel" name="decision" value="cancel">Cancel</button>
<button id="pay" name="decision" value="pay">Pay</button></p>
</form>`,
  );
}

function errorPage(code: string): string {
  return page('This page is not available', `<p id="error">${escapeHtml(code)}</p>`);
}
