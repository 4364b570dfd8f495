/** All variants of the payment and confirmation pages. */
import { chargePage } from '../pages/charge-page.ts';
import { confirmationPage } from '../pages/confirmation-page.ts';
import { confirmedPage } from '../pages/confirmed-page.ts';
import { dailyLimitPage } from '../pages/daily-limit-page.ts';
import { passkeyPage } from '../pages/passkey-page.ts';
import { passkeySignInPage } from '../pages/passkey-sign-in-page.ts';
import { passkeyWaitPage } from '../pages/passkey-wait-page.ts';
import { paymentDonePage } from '../pages/payment-done-page.ts';
import { paymentPage } from '../pages/payment-page.ts';
import { receiptPage } from '../pages/receipt-page.ts';
import type { PageContext } from '../views.ts';
import {
  extremeCall,
  extremeConfirmation,
  extremePayment,
  extremePaymentDone,
  extremePaymentView,
  fileStore,
  sampleCall,
  sampleCharge,
  sampleConfirmation,
  sampleConfirmationView,
  samplePasskeyView,
  samplePayment,
  samplePaymentDone,
  samplePaymentView,
  sampleRefunds,
  stripe,
} from './sample-approval-views.ts';
import { extremeConnect, longHost, longMcpServer } from './sample-views.ts';

const atStripe = { ...samplePaymentView, payment: { ...samplePayment, processor: stripe } };
const signInAgain = { signInAgainHref: '/login?to=0a.sample' };
const { items: _items, ...plainPayment } = samplePayment;
const confirmed = {
  mcpServer: fileStore,
  confirmation: sampleConfirmation,
  approvedAt: new Date('2026-03-04T14:24:00Z'),
  receiptHref: '/e/0a.sample/receipt',
};
const onReceipt = { downloadHref: '/e/0a.sample/receipt.json', historyHref: '/me/history' };

export const sampleApprovalPages: Readonly<Record<string, (context: PageContext) => string>> = {
  payment: context => paymentPage(context, atStripe),
  'payment-direct': context => paymentPage(context, samplePaymentView),
  'payment-unregistered-payee': context =>
    paymentPage(context, {
      ...samplePaymentView,
      payment: {
        ...samplePayment,
        payeeNamedBy: { mcpServer: samplePaymentView.mcpServer.name, brand: context.branding.name },
      },
    }),
  'payment-plain': context => {
    const { person: _person, switchAccountAction: _action, message: _message, ...view } = samplePaymentView;
    const yen = { currency: 'JPY', minorUnits: 128_000, decimals: 0 };
    return paymentPage(context, { ...view, payment: { ...plainPayment, amount: yen } });
  },
  'payment-passkey': context => paymentPage(context, { ...atStripe, approval: 'passkey' }),
  'payment-with-passkey': context => paymentPage(context, { ...atStripe, approval: { ceremony: samplePasskeyView } }),
  'payment-passkey-failed': context =>
    paymentPage(context, { ...atStripe, approval: 'passkey', notice: 'passkey_failed' }),
  'payment-sign-in-again': context =>
    paymentPage(context, { ...atStripe, approval: signInAgain, notice: 'sign_in_again' }),
  'payment-terms-changed': context => paymentPage(context, { ...atStripe, notice: 'terms_changed' }),
  'payment-not-finished': context => paymentPage(context, { ...atStripe, notice: 'payment_not_finished' }),
  'payment-processor-unavailable': context => paymentPage(context, { ...atStripe, notice: 'processor_unavailable' }),
  'payment-unavailable-unnamed': context =>
    paymentPage(context, { ...samplePaymentView, notice: 'processor_unavailable' }),
  'payment-extreme': context => paymentPage(context, extremePaymentView),
  'passkey-assert': context => passkeyPage(context, samplePasskeyView),
  'passkey-register': context => passkeyPage(context, { ...samplePasskeyView, mode: 'register' }),
  'passkey-failed': context => passkeyPage(context, { ...samplePasskeyView, notice: 'failed' }),
  'passkey-not-added': context => {
    const { person: _person, ...view } = samplePasskeyView;
    return passkeyPage(context, { ...view, mode: 'register', notice: 'not_added' });
  },
  'passkey-sign-in': context => passkeySignInPage(context, { ...samplePasskeyView, signInHref: '/login?to=0a.sample' }),
  'passkey-wait': context =>
    passkeyWaitPage(context, { ...samplePasskeyView, countsFrom: new Date('2026-11-24T09:30:00Z') }),
  'daily-limit': context => dailyLimitPage(context, { ...samplePasskeyView, from: new Date('2026-11-24T09:30:00Z') }),
  'daily-limit-always': context => dailyLimitPage(context, samplePasskeyView),
  'passkey-extreme': context =>
    passkeyPage(context, {
      ...samplePasskeyView,
      mcpServer: longMcpServer,
      payment: extremePayment,
      person: extremeConnect.person,
    }),
  charge: context => chargePage(context, sampleCharge),
  'charge-not-paid-yet': context =>
    chargePage(context, { ...sampleCharge, checkHref: '/e/0a.sample/charge', notice: 'not_paid_yet' }),
  'charge-unavailable': context => {
    const { continueHref: _href, person: _person, ...view } = sampleCharge;
    return chargePage(context, {
      ...view,
      continueAction: '/e/0a.sample/charge',
      notice: 'processor_unavailable',
    });
  },
  'charge-processing': context => {
    const { continueHref: _href, ...view } = sampleCharge;
    return chargePage(context, {
      ...view,
      now: view.expiresAt,
      checkHref: '/e/0a.sample/charge',
      notice: 'processing',
    });
  },
  'charge-extreme': context =>
    chargePage(context, {
      ...sampleCharge,
      mcpServer: longMcpServer,
      payment: extremePayment,
      person: extremeConnect.person,
      continueHref: `https://${longHost}/pay`,
      checkHref: '/e/0a.sample/charge',
      notice: 'not_paid_yet',
    }),
  'receipt-paid': context => paymentDonePage(context, samplePaymentDone),
  'receipt-approved': context => {
    const { returnHref: _href, person: _person, ...view } = samplePaymentDone;
    const payment = { ...plainPayment, amount: { currency: 'USD', minorUnits: 1_250_000, decimals: 2 } };
    return paymentDonePage(context, { ...view, payment, paid: false, method: 'passkey' });
  },
  'receipt-paid-back': context =>
    paymentDonePage(context, {
      ...samplePaymentDone,
      paidBack: { currency: 'EUR', minorUnits: 490, decimals: 2 },
      refunds: sampleRefunds,
      dispute: 'open',
    }),
  'receipt-extreme': context => paymentDonePage(context, extremePaymentDone),
  'receipt-of-payment': context => receiptPage(context, { ...samplePaymentDone, ...onReceipt, kind: 'payment' }),
  'receipt-of-confirmation': context =>
    receiptPage(context, {
      ...confirmed,
      ...onReceipt,
      confirmation: sampleConfirmationView.confirmation,
      kind: 'confirmation',
      method: 'button',
      receiptNumber: samplePaymentDone.receiptNumber,
      person: samplePaymentDone.person,
    }),
  'receipt-of-extreme': context => receiptPage(context, { ...extremePaymentDone, ...onReceipt, kind: 'payment' }),
  confirmation: context => confirmationPage(context, sampleConfirmationView),
  'confirmation-caution': context =>
    confirmationPage(context, {
      ...sampleConfirmationView,
      confirmation: {
        title: 'Invite 40 people to the folder "Plans"',
        facts: [{ label: 'People', type: 'number', value: 40 }],
        danger: 'caution',
      },
    }),
  'confirmation-normal': context =>
    confirmationPage(context, {
      ...sampleConfirmationView,
      confirmation: { title: 'Share the folder "Press pictures" with the editors', facts: [], danger: 'normal' },
      message: { en: 'The editors asked for the pictures.', de: 'Die Redaktion hat um die Bilder gebeten.' },
      requestedBy: { mcpClient: 'Desk Assistant', tool: 'share_folder' },
    }),
  'confirmation-sign-in-again': context =>
    confirmationPage(context, { ...sampleConfirmationView, approval: signInAgain, notice: 'sign_in_again' }),
  'confirmation-terms-changed': context =>
    confirmationPage(context, { ...sampleConfirmationView, confirmation: sampleConfirmation, notice: 'terms_changed' }),
  'confirmation-extreme': context => {
    const { authorization: _authorization, missing: _missing, notice: _notice, ...view } = extremeConnect;
    return confirmationPage(context, {
      ...view,
      confirmation: extremeConfirmation,
      approval: 'button',
      shown: 'shown-value',
    });
  },
  'confirmation-of-call': context =>
    confirmationPage(context, {
      ...sampleConfirmationView,
      confirmation: sampleCall,
      message: { en: 'The minutes are ready.', de: 'Das Protokoll ist fertig.' },
      requestedBy: { mcpClient: 'Desk Assistant', tool: 'send_email' },
    }),
  'confirmation-of-extreme-call': context =>
    confirmationPage(context, { ...sampleConfirmationView, mcpServer: longMcpServer, confirmation: extremeCall }),
  'receipt-of-call': context =>
    receiptPage(context, {
      ...confirmed,
      ...onReceipt,
      confirmation: sampleCall,
      kind: 'confirmation',
      method: 'button',
      receiptNumber: samplePaymentDone.receiptNumber,
      person: samplePaymentDone.person,
    }),
  confirmed: context => confirmedPage(context, { ...confirmed, returnHref: 'https://files.northwind.example/back' }),
  'confirmed-plain': context =>
    confirmedPage(context, {
      ...confirmed,
      confirmation: { title: 'Share the folder "Press pictures" with the editors', facts: [], danger: 'normal' },
    }),
  'confirmed-extreme': context =>
    confirmedPage(context, { ...confirmed, mcpServer: longMcpServer, confirmation: extremeConfirmation }),
};
