import { Readable } from 'node:stream';
import { type PropertySchema, requestedSchemaSchema } from '@postern/api/form';
import type { BrowserSession, Elicitation } from '@postern/elicitation';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { isLoopbackHost } from '../platform/config/config-values.ts';
import { ProblemError } from '../platform/http/problems.ts';
import { requestContext } from '../platform/http/request-context.ts';
import { readBody } from '../platform/http/request-input.ts';
import { networkOf } from '../platform/http/unknown-callers.ts';

/** Thrown to refuse a page request with 400 or 403, independent of the elicitation. */
export class PageError extends Error {
  override name = 'PageError';
  readonly kind: 'bad_request' | 'forbidden';

  constructor(kind: 'bad_request' | 'forbidden') {
    super(kind);
    this.kind = kind;
  }
}

/**
 * Requires that a form post comes from our own pages (security: T21). A browser derives `Sec-Fetch-Site` from the page that posts, and no
 * page can set it, so it decides. `Origin: null` beside `same-origin` is our own page under `Referrer-Policy: no-referrer`, which a proxy
 * may add: sandboxed and `data:` pages are `cross-site`. Without `Sec-Fetch-Site` only our own `Origin` is accepted.
 * @throws PageError `forbidden`
 */
export function assertSameOrigin({ headers }: FastifyRequest, publicUrl: string): void {
  const { origin, 'sec-fetch-site': site } = headers;
  const isOwn =
    site === undefined
      ? origin === publicUrl
      : site === 'same-origin' && [undefined, 'null', publicUrl].includes(origin);
  if (!isOwn) throw new PageError('forbidden');
}

/**
 * Loopback mode has no sign-in, so only the same-origin policy protects a page. DNS rebinding (a foreign name that resolves to this
 * machine) makes a foreign page same-origin; only the `Host` header shows the foreign name.
 * @throws PageError `forbidden`
 */
export function assertLoopbackHost(request: FastifyRequest): void {
  const url = URL.parse(`http://${request.headers.host ?? ''}`);
  if (url === null || !isLoopbackHost(url.hostname)) throw new PageError('forbidden');
}

/** Refuses link scanners and prefetchers, which must not trigger actions of users (security: T26). @throws PageError `forbidden` */
export function assertNoPrefetch({ headers }: FastifyRequest): void {
  const purpose = headers['sec-purpose'] ?? headers['purpose'] ?? headers['x-moz'];
  if (typeof purpose === 'string' && /prefetch|prerender|preview/i.test(purpose)) throw new PageError('forbidden');
}

/** Maximum number of requests of one address, per minute, for which the gateway finds out who sends them. */
const LOOKED_UP = 6_000;

/**
 * Page requests per minute: those of an address, and beyond that those of each person behind it. So strangers behind the address of an
 * office cannot stop colleagues who have signed in, or who return from the identity provider. Colleagues are asked who they are only
 * once the address has used up its share.
 *
 * @throws ProblemError `rate_limited`
 */
export function createPageLimit(
  app: FastifyInstance,
  p: {
    max: number;
    readSession: (request: FastifyRequest) => Promise<BrowserSession | undefined>;
    /** The `state` of a sign-in that this browser has begun and now returns from. */
    returningWith: (request: FastifyRequest) => Promise<string | undefined>;
  },
): (request: FastifyRequest) => Promise<void> {
  const persons = new WeakMap<FastifyRequest, string>();
  // The address is missing if the caller has disconnected.
  const addressOf = (request: FastifyRequest) => networkOf(request.ip ?? '');
  const limit = (max: number, keyGenerator: (request: FastifyRequest) => string) =>
    app.createRateLimit({ max, timeWindow: 60_000, keyGenerator });
  const byAddress = limit(p.max, addressOf);
  const lookedUp = limit(LOOKED_UP, addressOf);
  const byPerson = limit(p.max, request => persons.get(request) ?? '');
  const isOver = (counted: Awaited<ReturnType<typeof byAddress>>) => !counted.isAllowed && counted.isExceeded;

  return async request => {
    const counted = await byAddress(request);
    if (counted.isAllowed || !counted.isExceeded) return;
    // Without a cookie there is no session to look up. A look-up counts only if it finds none.
    if (request.headers.cookie !== undefined && !isOver(await lookedUp(request, { increment: false }))) {
      const session = await p.readSession(request);
      const person = session === undefined ? await p.returningWith(request) : JSON.stringify(session.subject);
      if (person === undefined) await lookedUp(request);
      else {
        persons.set(request, person);
        if (!isOver(await byPerson(request))) return;
      }
    }
    throw new ProblemError('rate_limited', { retryAfterMs: counted.ttl });
  };
}

/** Maximum size of a submitted form. */
export interface FormLimits {
  readonly controls: number;
  /** Encoded, as sent. */
  readonly bytes: number;
}

/** Limits of a form without input fields: CSRF token, shown digest, passkey ceremony and authenticator response. */
export const BASE_FORM_LIMITS: FormLimits = { controls: 4, bytes: 16 * 1024 };

/** A character takes at most four bytes in UTF-8, each escaped as three. */
const BYTES_PER_CHARACTER = 12;
/** The prefix of an input's name, `=` and `&`. */
const FRAME_BYTES = 'field.'.length + 2;
const MAX_TEXT_LENGTH = 4096;
/** Upper bound for any form. */
export const MAX_POSTED_BYTES = 320 * 1024;
/** Of a number or a boolean. */
const SHORT_VALUE_LENGTH = 128;

interface Control {
  readonly name: string;
  readonly maxLength: number;
}

/** Returns the limits of the forms on the page of this elicitation. */
export function formLimitsOf({ request }: Elicitation): FormLimits {
  switch (request.kind) {
    case 'credential':
      return limitsOf(request.fields);
    case 'form': {
      // Checked when issued; parsed again because it comes from the store.
      const { properties } = requestedSchemaSchema.parse(request.requestedSchema);
      return limitsOf(Object.entries(properties).flatMap(([name, property]) => controlsOf(name, property)));
    }
    default:
      return BASE_FORM_LIMITS;
  }
}

function limitsOf(controls: readonly Control[]): FormLimits {
  const typed = controls.map(
    ({ name, maxLength }) => FRAME_BYTES + (name.length + Math.min(maxLength, MAX_TEXT_LENGTH)) * BYTES_PER_CHARACTER,
  );
  return {
    controls: BASE_FORM_LIMITS.controls + controls.length,
    bytes: Math.min(
      typed.reduce((sum, bytes) => sum + bytes, BASE_FORM_LIMITS.bytes),
      MAX_POSTED_BYTES,
    ),
  };
}

function controlsOf(name: string, property: PropertySchema): readonly Control[] {
  switch (property.type) {
    case 'boolean':
    case 'number':
    case 'integer':
      return [{ name, maxLength: SHORT_VALUE_LENGTH }];
    case 'array': {
      const { items } = property;
      const values = 'enum' in items ? items.enum : items.anyOf.map(option => option.const);
      return values.map(value => ({ name, maxLength: value.length }));
    }
    case 'string': {
      const control = {
        name,
        maxLength: ('maxLength' in property ? property.maxLength : undefined) ?? MAX_TEXT_LENGTH,
      };
      // The page has two inputs: local time and offset.
      return 'format' in property && property.format === 'date-time' ? [control, control] : [control];
    }
  }
}

const AMPERSAND = 0x26;

/** Leaves form bodies unread. Routes call `readFormBody` once they know the visitor and the elicitation. */
export function deferFormParsing(app: FastifyInstance): void {
  app.addContentTypeParser('application/x-www-form-urlencoded', (_request, payload, done) => done(null, payload));
}

/**
 * Reads a form (application/x-www-form-urlencoded), once. A repeated name gets a list of values.
 * @returns undefined without a body
 * @throws ProblemError `payload_too_large`; PageError `bad_request` for more controls than the page has, before decoding
 */
export async function readFormBody(request: FastifyRequest, limits: FormLimits): Promise<object | undefined> {
  if (!(request.body instanceof Readable)) return undefined;
  // While a slow sender sends, its request does not count as in flight.
  const permit = requestContext()?.permit;
  const read = () => readBody(request, limits.bytes);
  const bytes = await (permit === undefined ? read() : permit.waitFor(read));
  if (controlsIn(bytes) > limits.controls) throw new PageError('bad_request');
  return fieldsIn(bytes.toString());
}

function controlsIn(bytes: Buffer): number {
  let count = 1;
  for (const byte of bytes) if (byte === AMPERSAND) count += 1;
  return count;
}

function fieldsIn(text: string): object {
  const fields = new Map<string, string | string[]>();
  for (const [name, value] of new URLSearchParams(text)) {
    const before = fields.get(name);
    fields.set(name, before === undefined ? value : [before, value].flat());
  }
  return Object.fromEntries(fields);
}
