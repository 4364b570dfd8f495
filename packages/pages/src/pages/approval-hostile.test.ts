import { describe, expect, test } from 'vitest';
import type { ConfirmationFactsView, PaymentFactsView } from '../approval-views.ts';
import {
  sampleCharge,
  sampleConfirmationView,
  samplePasskeyView,
  samplePayment,
  samplePaymentView,
} from '../samples/sample-approval-views.ts';
import { hostileStrings } from '../testing/hostile-strings.ts';
import { sampleContext as en } from '../testing/sample-context.ts';
import { widthOf } from '../text-width.ts';
import { chargePage } from './charge-page.ts';
import { confirmationPage } from './confirmation-page.ts';
import { confirmedPage } from './confirmed-page.ts';
import { passkeyPage } from './passkey-page.ts';
import { paymentDonePage } from './payment-done-page.ts';
import { paymentPage } from './payment-page.ts';
import { receiptPage } from './receipt-page.ts';

describe.each(hostileStrings)('hostile text %j', hostile => {
  /** Tags without the values of their attributes, some of which are hostile text themselves. */
  const tagsOf = (markup: string) => (markup.match(/<[^>]*>/g) ?? []).map(tag => tag.replace(/="[^"]*"/g, '=""'));
  const render = (text: string) => {
    const context = { ...en, branding: { name: text } };
    const mcpServer = { name: text, host: 'a.example' };
    const person = { displayName: text, detail: text };
    const payment: PaymentFactsView = {
      payeeName: text,
      amount: samplePayment.amount,
      items: [{ label: text, quantity: 3, unit: samplePayment.amount, total: samplePayment.amount }],
      reference: text,
      processor: { name: text, host: 'pay.example' },
    };
    const confirmation: ConfirmationFactsView = {
      title: text,
      action: text,
      facts: [
        { label: text, type: 'text', value: text },
        { label: text, type: 'number', value: 1 },
      ],
      arguments: [
        [[text], { type: 'string', text: [text] }],
        [['list'], { type: 'array', elements: [{ type: 'string', text: ['', text] }] }],
      ],
      danger: 'destructive',
    };
    const decision = {
      mcpServer,
      person,
      message: text,
      requestedBy: { mcpClient: text, tool: text },
      matchCode: text,
      csrfToken: text,
      shown: text,
    };
    const at = new Date(0);
    const onReceipt = { downloadHref: '/e/0a.sample/receipt.json', historyHref: '/me/history' };
    return [
      paymentPage(context, { ...samplePaymentView, ...decision, payment, notice: 'processor_unavailable' }),
      confirmationPage(context, { ...sampleConfirmationView, ...decision, confirmation }),
      confirmedPage(context, { mcpServer, confirmation, approvedAt: at, receiptHref: '/e/0a.sample/receipt' }),
      receiptPage(context, {
        mcpServer,
        person,
        approvedAt: at,
        receiptNumber: text,
        method: 'button',
        ...onReceipt,
        kind: 'confirmation',
        confirmation,
      }),
      chargePage(context, {
        ...sampleCharge,
        mcpServer,
        person,
        payment,
        csrfToken: text,
        continueHref: 'https://pay.example/',
        notice: 'not_paid_yet',
      }),
      paymentDonePage(context, {
        mcpServer,
        person,
        payment,
        approvedAt: at,
        receiptNumber: text,
        receiptHref: '/e/0a.sample/receipt',
        paid: true,
        method: 'passkey',
      }),
      passkeyPage(context, {
        ...samplePasskeyView,
        mcpServer,
        person,
        payment,
        csrfToken: text,
        shown: text,
        ceremony: text,
        optionsJson: JSON.stringify({ user: text }),
      }),
    ];
  };

  test('hostile text adds no tag and no attribute anywhere', () => {
    // Of the same width, which decides on the size of headings and on what is cut.
    const benign = 'b'.repeat(widthOf(hostile));
    expect(render(hostile).map(tagsOf)).toEqual(render(benign).map(tagsOf));
  });
});
