/** Sample views of the payment and confirmation pages, with ordinary and extreme content. */
import type {
  AmountView,
  ArgumentMember,
  ArgumentView,
  ConfirmationFactsView,
  PaymentFactsView,
  WholeText,
} from '../approval-views.ts';
import type { McpServerView } from '../views.ts';
import { extremeConnect, longHost, longMcpServer, longWord, sampleConnect, samplePerson } from './sample-views.ts';

const bookShop: McpServerView = { name: { en: 'Book Shop', de: 'Buchladen' }, host: 'books.fabrikam.example' };
export const fileStore: McpServerView = {
  name: { en: 'File Store', de: 'Dateiablage' },
  host: 'files.northwind.example',
};

const euro = (minorUnits: number): AmountView => ({ currency: 'EUR', minorUnits, decimals: 2 });

export const samplePayment: PaymentFactsView = {
  payeeName: 'Fabrikam Books Ltd',
  amount: euro(2490),
  items: [
    {
      label: { en: 'The Left Hand of Darkness, paperback', de: 'Die linke Hand der Dunkelheit, Taschenbuch' },
      quantity: 2,
      unit: euro(1195),
      total: euro(2390),
    },
    { label: { en: 'Postage', de: 'Versand' }, quantity: 1, unit: euro(350), total: euro(350) },
    { label: { en: 'Voucher SPRING', de: 'Gutschein SPRING' }, quantity: 1, unit: euro(-250), total: euro(-250) },
  ],
  reference: 'Order 2026-0417',
};

export const stripe = { name: 'Stripe', host: 'checkout.stripe.com' };

const { authorization: _authorization, ...sampleDecision } = sampleConnect;

export const samplePaymentView = {
  ...sampleDecision,
  mcpServer: bookShop,
  payment: samplePayment,
  message: {
    en: 'These are the two copies that you wanted for your reading group.',
    de: 'Das sind die zwei Exemplare, die Sie für Ihren Lesekreis wollten.',
  },
  requestedBy: { mcpClient: 'Desk Assistant', tool: 'buy_books' },
  approval: 'button' as const,
  shown: 'shown-value',
};

const largest = Number.MAX_SAFE_INTEGER;
const largestAmount: AmountView = { currency: 'USD', minorUnits: largest, decimals: 2 };

export const extremePayment: PaymentFactsView = {
  payeeName: longWord,
  amount: largestAmount,
  items: Array.from({ length: 50 }, (_, index) => ({
    label: index === 0 ? longWord : `${'word '.repeat(20)}${index}`,
    quantity: 1_000_000,
    unit: largestAmount,
    total: largestAmount,
  })),
  reference: `${longWord}-0123456789`,
  processor: { name: longWord, host: longHost },
};

const { authorization: _extreme, missing: _missing, notice: _notice, ...extremeDecision } = extremeConnect;

export const extremePaymentView = {
  ...extremeDecision,
  payment: extremePayment,
  approval: { signInAgainHref: '/login?to=0a.sample' },
  shown: 'shown-value',
  notice: 'processor_unavailable' as const,
};

export const sampleConfirmation: ConfirmationFactsView = {
  title: {
    en: 'Delete the folder "Invoices 2019" and everything in it',
    de: 'Den Ordner „Rechnungen 2019“ mit seinem ganzen Inhalt löschen',
  },
  facts: [
    {
      label: { en: 'Folder', de: 'Ordner' },
      type: 'text',
      value: { en: 'Finance / Archive / Invoices 2019', de: 'Finanzen / Archiv / Rechnungen 2019' },
    },
    { label: { en: 'Files', de: 'Dateien' }, type: 'number', value: 1284 },
    {
      label: { en: 'Storage fee saved per year', de: 'Ersparte Speichergebühr pro Jahr' },
      type: 'amount',
      value: euro(1875),
    },
    { label: { en: 'Last change', de: 'Letzte Änderung' }, type: 'time', value: '2020-01-03T17:05:00+01:00' },
    { label: { en: 'Kept on', de: 'Liegt auf' }, type: 'host', value: 'files.northwind.example' },
  ],
  danger: 'destructive',
};

export const sampleConfirmationView = {
  ...sampleDecision,
  mcpServer: fileStore,
  confirmation: { ...sampleConfirmation, action: { en: 'Delete folder', de: 'Ordner löschen' } },
  message: { en: 'You asked me to tidy up the archive.', de: 'Sie haben mich gebeten, das Archiv aufzuräumen.' },
  requestedBy: { mcpClient: 'Desk Assistant', tool: 'delete_folder' },
  approval: 'button' as const,
  shown: 'shown-value',
};

export const extremeConfirmation: ConfirmationFactsView = {
  title: `${longWord} ${'مرحبا بالعالم '.repeat(4)}`,
  action: longWord.slice(0, 30),
  facts: [
    { label: longWord, type: 'text', value: `${longWord} ${'word '.repeat(40)}` },
    { label: 'Number', type: 'number', value: -1.7976931348623157e308 },
    { label: 'Small', type: 'number', value: 0.1 + 0.2 },
    { label: longWord, type: 'amount', value: { ...largestAmount, minorUnits: -largest } },
    { label: 'Moment', type: 'time', value: '9999-12-31T23:59:59-11:59' },
    { label: 'Host', type: 'host', value: longHost },
  ],
  danger: 'destructive',
};

const whole = (text: string): WholeText => text.split(/((?:[^\P{C}\n])+)/u);

/** Arguments as the gateway passes them. A text that begins with # is a number, and null is a secret. */
const sampleArguments = (members: object): readonly ArgumentMember[] =>
  Object.entries(members).map(([name, value]) => [whole(name), sampleArgument(value)]);

function sampleArgument(value: unknown): ArgumentView {
  if (value === null) return { type: 'hidden' };
  if (typeof value === 'boolean') return { type: 'boolean', text: String(value) };
  if (Array.isArray(value)) return { type: 'array', elements: value.map(sampleArgument) };
  if (typeof value === 'object') return { type: 'object', members: sampleArguments(value) };
  const text = String(value);
  return text.startsWith('#') ? { type: 'number', text: text.slice(1) } : { type: 'string', text: whole(text) };
}

export const sampleCall: ConfirmationFactsView = {
  title: { en: 'Send an e-mail', de: 'Eine E-Mail senden' },
  action: { en: 'Send', de: 'Senden' },
  facts: [],
  arguments: sampleArguments({
    to: ['bob@northwind.example', 'carol@fabrikam.example'],
    subject: 'Minutes of the 4th of March',
    body: 'Dear all,\n\nhere are the minutes. Please\u200b send corrections by Friday.\n\nAlice',
    attachments: [{ name: 'minutes.pdf', pages: '#12', isSigned: false }],
    priority: '#1.0',
    smtp_password: null,
    replyTo: {},
  }),
  danger: 'caution',
};

export const extremeCall: ConfirmationFactsView = {
  title: `${longWord} ${longWord}`,
  facts: [],
  arguments: sampleArguments({
    [longWord]: longWord.repeat(8),
    [`${longWord}\u202e`]: `\u202e${longWord}\u{e0041}\u{e0042}`,
    'مرحبا بالعالم': 'مرحبا (نص) 123 github.com',
    '': `#${'9'.repeat(90)}`,
    token: null,
    nested: Array.from({ length: 7 }).reduce<unknown>(inner => ({ [`level ${longWord}`]: [inner] }), 'deep'),
    many: Array.from({ length: 40 }, (_, at) => ({ id: `#${at}`, word: 'word '.repeat(at) })),
    empty: [[], {}],
  }),
  danger: 'destructive',
};

export const samplePasskeyView = {
  mcpServer: bookShop,
  payment: samplePayment,
  person: samplePerson,
  mode: 'assert' as const,
  optionsJson: JSON.stringify({ challenge: 'bm9uY2U', rpId: 'localhost', userVerification: 'required' }),
  action: '/e/0a.sample/passkey',
  declineAction: '/e/0a.sample/decline',
  backHref: '/e/0a.sample',
  csrfToken: 'csrf-value',
  shown: 'shown-value',
  ceremony: 'ceremony-value',
};

export const sampleCharge = {
  mcpServer: bookShop,
  payment: { ...samplePayment, processor: stripe },
  person: samplePerson,
  continueHref: 'https://checkout.stripe.com/c/pay/cs_test_a1b2c3',
  declineAction: '/e/0a.sample/decline',
  csrfToken: 'csrf-value',
  expiresAt: sampleConnect.expiresAt,
  now: sampleConnect.now,
  watch: { statusHref: '/e/0a.sample/status', pageHref: '/e/0a.sample', phase: 'charge' },
};

export const sampleRefunds = (
  [
    ['failed', 2490],
    ['succeeded', 490],
    ['pending', 2000],
  ] as const
).map(([status, minorUnits]) => ({
  status,
  amount: { currency: 'EUR', minorUnits, decimals: 2 },
  requestedAt: new Date('2026-03-06T09:05:00Z'),
}));

export const samplePaymentDone = {
  mcpServer: bookShop,
  payment: { ...samplePayment, processor: stripe },
  approvedAt: new Date('2026-03-04T14:24:00Z'),
  paid: true,
  method: 'button' as const,
  receiptNumber: 'el_0aZm9yIHRlc3RzIG9ubHksIG5vdCBhIHJlYWwgb25lQUI',
  receiptHref: '/e/0a.sample/receipt',
  returnHref: 'https://books.fabrikam.example/back',
  person: samplePerson,
};

export const extremePaymentDone = {
  ...samplePaymentDone,
  mcpServer: longMcpServer,
  payment: extremePayment,
  person: extremeConnect.person,
  receiptNumber: `0a.${longWord}`,
};
