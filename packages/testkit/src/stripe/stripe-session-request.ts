import { invalidRequest } from './stripe-api-error.ts';
import { checkCurrency, checkStep, checkTotal } from './stripe-currencies.ts';
import { type FormObject, type FormValue, isFormList, isFormObject } from './stripe-form.ts';
import { type KnownParameters, refuseUnknown } from './stripe-parameters.ts';

/** A request, validated like at Stripe. If validation throws, the request has not begun. */
export interface SessionRequest {
  readonly total: number;
  readonly currency: string;
  readonly items: readonly { readonly name: string; readonly quantity: number; readonly unitAmount: number }[];
  readonly clientReferenceId: string | null;
  readonly metadata: Readonly<Record<string, string>>;
  readonly intent: {
    readonly description: string | null;
    readonly metadata: Readonly<Record<string, string>>;
    /** The connected account that gets the money. */
    readonly destination: string | null;
  };
  readonly methods: readonly string[];
  readonly successUrl: string;
  readonly cancelUrl: string | null;
  readonly locale: string | null;
  readonly submitType: string | null;
  /** Epoch seconds. */
  readonly expiresAt: number;
}

const known: KnownParameters = {
  mode: true,
  ui_mode: true,
  success_url: true,
  cancel_url: true,
  expires_at: true,
  expand: true,
  client_reference_id: true,
  metadata: true,
  locale: true,
  submit_type: true,
  line_items: {
    quantity: true,
    price_data: { currency: true, unit_amount: true, product_data: { name: true, description: true } },
  },
  payment_intent_data: { description: true, metadata: true, transfer_data: { destination: true } },
  allowed_payment_method_types: true,
  adaptive_pricing: { enabled: true },
  automatic_tax: { enabled: true },
  allow_promotion_codes: true,
};
const HALF_AN_HOUR = 30 * 60;
const DAY = 24 * 60 * 60;
const MAX_QUANTITY = 999_999;

/** @param now epoch seconds */
export function readSessionRequest(form: FormObject, now: number): SessionRequest {
  if (form['payment_method_types'] !== undefined) {
    throw invalidRequest('Manage payment methods with allowed_payment_method_types', {
      code: 'payment_method_types_no_longer_supported',
      param: 'payment_method_types',
    });
  }
  refuseUnknown(form, known);
  if (form['mode'] !== 'payment') throw invalidRequest('Only mode payment is imitated here', { param: 'mode' });
  const { items, currency } = readItems(form['line_items']);
  const intent = isFormObject(form['payment_intent_data']) ? form['payment_intent_data'] : {};
  const methods = form['allowed_payment_method_types'];
  const expiresAt = form['expires_at'] === undefined ? now + DAY : whole(form['expires_at'], 'expires_at');
  if (expiresAt < now + HALF_AN_HOUR || expiresAt > now + DAY) {
    throw invalidRequest('Must be between 30 minutes and 24 hours in the future', { param: 'expires_at' });
  }
  const total = items.reduce((sum, { quantity, unitAmount }) => sum + quantity * unitAmount, 0);
  const accepted = isFormList(methods) ? methods.map(String) : ['card'];
  checkTotal(total, currency, accepted);
  return {
    items,
    currency,
    expiresAt,
    total,
    clientReferenceId: text(form, 'client_reference_id', 200),
    metadata: readMetadata(form['metadata']),
    intent: {
      description: text(intent, 'description', 1000),
      metadata: readMetadata(intent['metadata']),
      destination: readDestination(intent['transfer_data']),
    },
    methods: accepted,
    successUrl: url(form, 'success_url') ?? required('success_url'),
    cancelUrl: url(form, 'cancel_url'),
    locale: text(form, 'locale', 20),
    submitType: text(form, 'submit_type', 20),
  };
}

function readDestination(value: FormValue | undefined): string | null {
  if (value === undefined) return null;
  const destination = isFormObject(value) ? text(value, 'destination', 100) : null;
  if (destination === null) return required('payment_intent_data[transfer_data][destination]');
  if (/^acct_\w+$/.test(destination)) return destination;
  throw invalidRequest(`No such destination: '${destination}'`, { code: 'resource_missing' });
}

function readItems(value: FormValue | undefined): Pick<SessionRequest, 'items' | 'currency'> {
  if (!isFormList(value) || value.length === 0 || value.length > 100) return required('line_items');
  const read = value.map((item, index) => {
    const param = `line_items[${index}]`;
    const price = isFormObject(item) ? item['price_data'] : undefined;
    const product = isFormObject(price) ? price['product_data'] : undefined;
    if (!isFormObject(item) || !isFormObject(price) || !isFormObject(product)) return required(param);
    const currency = text(price, 'currency', 3) ?? required(`${param}[price_data][currency]`);
    checkCurrency(currency);
    const unitAmount = whole(price['unit_amount'], `${param}[price_data][unit_amount]`);
    checkStep(unitAmount, currency);
    const name = text(product, 'name', 250) ?? required(`${param}[price_data][product_data][name]`);
    const quantity = whole(item['quantity'], `${param}[quantity]`);
    if (quantity > MAX_QUANTITY) {
      throw invalidRequest('The quantity is too large', {
        code: 'parameter_invalid_integer',
        param: `${param}[quantity]`,
      });
    }
    return { currency, name, unitAmount, quantity };
  });
  const [{ currency } = required('line_items')] = read;
  if (read.some(item => item.currency !== currency)) throw invalidRequest('All prices must use the same currency');
  return { currency, items: read };
}

function readMetadata(value: FormValue | undefined): Readonly<Record<string, string>> {
  if (!isFormObject(value)) return {};
  return Object.fromEntries(
    Object.keys(value).map(name => [name, text(value, name, 500) ?? required(`metadata[${name}]`)]),
  );
}

function text(form: FormObject, param: string, max: number): string | null {
  const value = form[param];
  if (value === undefined) return null;
  if (typeof value === 'string' && value !== '' && value.length <= max) return value;
  throw invalidRequest(`Invalid ${param}`, { code: 'parameter_invalid_string', param });
}

function whole(value: FormValue | undefined, param: string): number {
  if (typeof value === 'string' && /^\d{1,12}$/.test(value)) return Number(value);
  throw invalidRequest(`Invalid non-negative integer: ${param}`, { code: 'parameter_invalid_integer', param });
}

function url(form: FormObject, param: string): string | null {
  const value = text(form, param, 5000);
  if (value === null || /^https?:$/.test(URL.parse(value)?.protocol ?? '')) return value;
  throw invalidRequest('Not a valid URL', { code: 'url_invalid', param });
}

function required(param: string): never {
  throw invalidRequest(`Missing required param: ${param}`, { code: 'parameter_missing', param });
}
