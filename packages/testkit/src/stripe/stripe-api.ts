import { randomBytes } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { Clock } from '@postern/elicitation';
import type { CheckoutSessions } from './checkout-sessions.ts';
import type { IdempotencyLedger, StoredAnswer } from './idempotency-ledger.ts';
import { invalidRequest, StripeApiError } from './stripe-api-error.ts';
import type { StripeFault, StripeFaults, StripeRequestKind } from './stripe-faults.ts';
import { type FormObject, isFormList, parseForm } from './stripe-form.ts';
import type { StripeSession } from './stripe-objects.ts';
import { refuseUnknown } from './stripe-parameters.ts';
import type { StripeRefunds } from './stripe-refunds.ts';
import { readSessionRequest } from './stripe-session-request.ts';

export interface StripeApiRequest {
  readonly kind: StripeRequestKind | 'other';
  readonly method: string;
  readonly path: string;
  readonly idempotencyKey: string | undefined;
  readonly apiVersion: string | undefined;
  readonly body: string;
}

export interface StripeApiAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

interface Effect {
  readonly kind: StripeRequestKind;
  /** Whether it is about PaymentIntents, refunds, disputes or webhook endpoints, for which the restricted key has no right. */
  readonly isWithheld?: boolean;
  readonly run: (idempotencyKey: string | undefined) => object;
}

type FaultAction = StripeFault['does'];

/** The members of a webhook endpoint that its list shows. */
export interface StripeWebhookEndpoint {
  readonly url: string;
  readonly status: 'enabled' | 'disabled';
  readonly enabled_events: readonly string[];
}

interface StripeApiParts {
  readonly secretKey: string;
  readonly restrictedKey: string | undefined;
  readonly powerlessKey: string | undefined;
  readonly webhookEndpoints: readonly StripeWebhookEndpoint[];
  readonly now: Clock;
  readonly checkout: CheckoutSessions;
  readonly refunds: StripeRefunds;
  readonly keys: IdempotencyLedger;
  readonly faults: StripeFaults;
}

/** The API: authentication, idempotency, faults and errors. `CheckoutSessions` implements its effects. */
export class StripeApi {
  readonly requests: StripeApiRequest[] = [];
  readonly #idsByKey = new Map<string, string[]>();
  readonly #parts: StripeApiParts;

  constructor(parts: StripeApiParts) {
    this.#parts = parts;
  }

  /** Ids of the Checkout Sessions that requests under this key have created. */
  idsUnder(idempotencyKey: string): readonly string[] {
    return this.#idsByKey.get(idempotencyKey) ?? [];
  }

  /** @returns undefined if the connection must be broken instead */
  async answer(p: {
    readonly method: string;
    readonly url: URL;
    readonly headers: IncomingHttpHeaders;
    readonly body: string;
  }): Promise<StripeApiAnswer | undefined> {
    const idempotencyKey = p.method === 'POST' ? p.headers['idempotency-key']?.toString() : undefined;
    const apiVersion = p.headers['stripe-version']?.toString();
    const effect = this.#effectOf(p);
    const kind = effect?.kind ?? 'other';
    const { method, body } = p;
    this.requests.push({ kind, method, path: p.url.pathname, idempotencyKey, apiVersion, body });
    const fault = effect && this.#parts.faults.take(effect.kind);
    const loses = fault && 'loseAnswer' in fault ? fault.loseAnswer : undefined;
    if (loses === 'before') return undefined;

    const requestId = `req_${randomBytes(7).toString('hex')}`;
    const answer = await this.#answerOf({ ...p, effect, fault, idempotencyKey, requestId });
    if (loses === 'after') return undefined;
    return {
      status: answer.status,
      body: answer.body,
      headers: {
        'content-type': 'application/json',
        'request-id': requestId,
        ...(apiVersion !== undefined && { 'stripe-version': apiVersion }),
        ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
        ...(answer.requestId !== requestId && {
          'idempotent-replayed': 'true',
          'original-request': answer.requestId,
        }),
      },
    };
  }

  async #answerOf(p: {
    readonly method: string;
    readonly url: URL;
    readonly headers: IncomingHttpHeaders;
    readonly body: string;
    readonly effect: Effect | undefined;
    readonly fault: FaultAction | undefined;
    readonly idempotencyKey: string | undefined;
    readonly requestId: string;
  }): Promise<StoredAnswer> {
    const { effect, fault, idempotencyKey, requestId } = p;
    const { keys, secretKey, restrictedKey, powerlessKey } = this.#parts;
    if (fault && 'body' in fault) return { status: 200, body: fault.body, requestId };
    try {
      if (fault && 'status' in fault && !fault.isStored) throw failure(fault);
      const isPowerless = powerlessKey !== undefined && p.headers.authorization === `Bearer ${powerlessKey}`;
      if (isPowerless) throw forbidden();
      const isRestricted = restrictedKey !== undefined && p.headers.authorization === `Bearer ${restrictedKey}`;
      if (!isRestricted && p.headers.authorization !== `Bearer ${secretKey}`) throw unauthorized();
      if (effect === undefined) throw unknownUrl(p.method, p.url);
      if (isRestricted && effect.isWithheld === true) throw forbidden();
      const request = { path: p.url.pathname, body: p.body };
      const stored = idempotencyKey === undefined ? undefined : keys.begin(idempotencyKey, request);
      if (stored) return stored;
    } catch (error) {
      return errorAnswer(error, requestId);
    }
    const hold = fault && 'hold' in fault ? fault : undefined;
    if (hold?.when === 'before') await held(hold);
    const answer = outcomeOf(() => {
      if (fault && 'status' in fault) throw failure(fault);
      return effect.run(idempotencyKey);
    }, requestId);
    if (hold?.when === 'after') await held(hold);
    if (idempotencyKey !== undefined) {
      if (answer.isStored) keys.store(idempotencyKey, answer);
      else keys.release(idempotencyKey);
    }
    return answer;
  }

  #effectOf({ method, url, body }: { method: string; url: URL; body: string }): Effect | undefined {
    const { checkout } = this.#parts;
    if (method === 'POST' && url.pathname === '/v1/checkout/sessions') {
      return { kind: 'create', run: key => this.#create(body, key) };
    }
    const [, id, verb] = /^\/v1\/checkout\/sessions\/(\w+)(?:\/(expire))?$/.exec(url.pathname) ?? [];
    if (method === 'POST' && id !== undefined && verb === 'expire') {
      return { kind: 'expire', run: () => this.#expire(id, body) };
    }
    if (method === 'GET' && id !== undefined && verb === undefined) {
      const query = parseForm(url.search.slice(1));
      return { kind: 'retrieve', isWithheld: query['expand'] !== undefined, run: () => this.#retrieve(id, query) };
    }
    if (method === 'GET' && url.pathname === '/v1/webhook_endpoints') {
      const data = this.#parts.webhookEndpoints.map(endpoint => ({ object: 'webhook_endpoint', ...endpoint }));
      return {
        kind: 'list',
        isWithheld: true,
        run: () => ({ object: 'list', url: '/v1/webhook_endpoints', has_more: false, data }),
      };
    }
    if (url.pathname === '/v1/refunds' || url.pathname === '/v1/disputes') {
      const query = parseForm(url.search.slice(1));
      const { refunds } = this.#parts;
      if (method === 'GET' && url.pathname === '/v1/refunds')
        return { kind: 'refunds', isWithheld: true, run: () => refunds.listRefunds(query) };
      if (method === 'GET') return { kind: 'disputes', isWithheld: true, run: () => refunds.listDisputes(query) };
      if (method === 'POST' && url.pathname === '/v1/refunds')
        return { kind: 'refund', isWithheld: true, run: () => refunds.create(parseForm(body)) };
    }
    const intentId = /^\/v1\/payment_intents\/(\w+)$/.exec(url.pathname)?.[1];
    if (method === 'GET' && intentId !== undefined) {
      return { kind: 'retrieve', isWithheld: true, run: () => checkout.intent(intentId) };
    }
    return undefined;
  }

  #create(body: string, key: string | undefined): StripeSession {
    const { checkout, now } = this.#parts;
    const created = checkout.create(readSessionRequest(parseForm(body), Math.floor(now() / 1000)));
    if (key !== undefined) this.#idsByKey.set(key, [...this.idsUnder(key), created.id]);
    return created;
  }

  #expire(id: string, body: string): StripeSession {
    refuseUnknown(parseForm(body), { expand: true });
    return this.#parts.checkout.expire(id);
  }

  #retrieve(id: string, query: FormObject): object {
    const { checkout } = this.#parts;
    refuseUnknown(query, { expand: true });
    const expand = isFormList(query['expand']) ? query['expand'].map(String) : [];
    const found = checkout.get(id);
    const unknown = expand.find(property => property !== 'payment_intent');
    if (unknown !== undefined) throw invalidRequest(`This property cannot be expanded (${unknown}).`);
    if (expand.length === 0 || found.payment_intent === null) return found;
    return { ...found, payment_intent: checkout.intent(found.payment_intent) };
  }
}

function held(hold: Extract<FaultAction, { hold: Promise<void> }>): Promise<void> {
  hold.reached();
  return hold.hold;
}

/** Runs a request. Its parameters are checked before it counts as begun. */
function outcomeOf(run: () => object, requestId: string): StoredAnswer & { readonly isStored: boolean } {
  try {
    return { status: 200, body: JSON.stringify(run()), requestId, isStored: true };
  } catch (error) {
    return { ...errorAnswer(error, requestId), isStored: error instanceof StripeApiError && error.isStored };
  }
}

function errorAnswer(error: unknown, requestId: string): StoredAnswer {
  if (!(error instanceof StripeApiError)) throw error;
  return { status: error.status, body: JSON.stringify(error.body), requestId };
}

function failure(fault: Extract<FaultAction, { status: number }>): StripeApiError {
  const type = fault.status >= 500 ? 'api_error' : 'invalid_request_error';
  const code = fault.code ?? (fault.status === 429 ? 'rate_limit' : undefined);
  const details = { type, message: 'As asked by the test', ...(code !== undefined && { code }) };
  return new StripeApiError(fault.status, details, fault.isStored === true);
}

/** Like Stripe's, the message quotes the mostly hidden key. */
function unauthorized(): StripeApiError {
  return new StripeApiError(401, {
    type: 'invalid_request_error',
    message: 'Invalid API Key provided: sk_test_********************1234',
  });
}

/** Refuses a restricted key. Stripe's error has no code, and quotes key, account and the missing permission. */
function forbidden(): StripeApiError {
  return new StripeApiError(403, {
    type: 'invalid_request_error',
    message:
      "The provided key 'rk_test_********1234' does not have the required permissions for this endpoint on account 'acct_1'. " +
      "Having the 'rak_payment_intent_read' permission would allow this request to continue.",
  });
}

function unknownUrl(method: string, url: URL): StripeApiError {
  const message = `Unrecognized request URL (${method}: ${url.pathname})`;
  return new StripeApiError(404, { type: 'invalid_request_error', message });
}
