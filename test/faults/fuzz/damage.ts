import fc from 'fast-check';
import { MARKUP, oddHeader, oddInUrl, oddJson, oddText } from '../../support/hostile-values.ts';
import type { Draft, Pair } from './draft.ts';
import { jsonFaults } from './json-faults.ts';

type Damage = fc.Arbitrary<(draft: Draft) => Draft>;

/** Names of query parameters and form fields of all routes, and some unknown ones. */
const names = [
  ...['wait', 'kind', 'status', 'after', 'issuer', 'subject', 'provider', 'name', 'e', 'to', 'idp', 'switch', 'fresh'],
  ...['ticket', 'code', 'state', 'iss', 'error', 'error_description', 'response', 'session_state', 'id_token'],
  ...['csrf_token', 'shown', 'ceremony', 'field.', 'field.api_key', 'field.name', 'field.__proto__', '__proto__'],
  ...['constructor', 'wait[]', 'state[]', '', encodeURIComponent(MARKUP), '%00', '%', 'x'.repeat(300)],
];
const headerNames = [
  ...['accept', 'accept-language', 'accept-encoding', 'content-type', 'content-encoding', 'idempotency-key', 'origin'],
  ...['x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'forwarded', 'referer', 'sec-fetch-site', 'range'],
  ...[
    'sec-purpose',
    'traceparent',
    'tracestate',
    'baggage',
    'last-event-id',
    'if-none-match',
    'expect',
    'x-request-id',
  ],
  ...['stripe-signature', 'x-http-method-override', 'user-agent', 'te', 'via', '__proto__', 'constructor'],
];

const pairName = fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...names) }, { weight: 1, arbitrary: oddInUrl });
const pair: fc.Arbitrary<Pair> = fc.tuple(pairName, oddInUrl);

/** Replaces, removes, duplicates, renames or adds one pair. */
function damagedPairs(pairs: readonly Pair[], at: number, how: number, [name, value]: Pair): readonly Pair[] {
  const target = pairs.length === 0 ? undefined : pairs[at % pairs.length];
  const replaceBy = (...by: readonly Pair[]) => pairs.flatMap(each => (each === target ? by : [each]));
  if (target === undefined) return [[name, value]];
  switch (how % 6) {
    case 0:
      return replaceBy([target[0], value]);
    case 1:
      return replaceBy();
    case 2:
      return replaceBy(target, [target[0], value]);
    case 3:
      return replaceBy(target, target);
    case 4:
      return replaceBy([name, target[1]]);
    default:
      return [...pairs, [name, value]];
  }
}

const pairDamage = fc.tuple(fc.nat({ max: 30 }), fc.nat({ max: 5 }), pair);

const inQuery: Damage = pairDamage.map(([at, how, by]) => draft => ({
  ...draft,
  query: damagedPairs(draft.query, at, how, by),
}));

const manyInQuery: Damage = fc
  .array(pair, { maxLength: 6 })
  .map(pairs => draft => ({ ...draft, query: [...draft.query, ...pairs] }));

/** A query parameter whose value is never valid, among others. */
export const withInvalidQuery = (name: string, value: string): Damage =>
  fc.array(pair, { maxLength: 6 }).map(pairs => draft => ({
    ...draft,
    query: [...draft.query.filter(([known]) => known !== name), [name, value], ...pairs],
  }));

export const withHeader = (name: string, values: fc.Arbitrary<string>): Damage =>
  values.map(value => draft => ({ ...draft, headers: { ...draft.headers, [name]: value } }));

const inPath: Damage = fc
  .tuple(fc.nat({ max: 8 }), fc.nat({ max: 7 }), oddInUrl, fc.nat({ max: 10_000 }))
  .map(([at, how, by, length]) => draft => {
    const place = draft.path.length - 1 - (at % draft.path.length);
    const old = draft.path[place] ?? '';
    const segment =
      [
        by,
        old + by,
        old.slice(0, length % 50),
        old.toUpperCase(),
        `${old.slice(0, 3)}ff${old.slice(5)}`,
        'x'.repeat(length),
        old === '' ? '%' : `%${old.charCodeAt(0).toString(16)}${old.slice(1)}`,
        `${old}/`,
      ][how] ?? by;
    return { ...draft, path: draft.path.with(place, segment) };
  });

const inHeaders: Damage = fc
  .array(fc.tuple(fc.constantFrom(...headerNames), oddHeader), { minLength: 1, maxLength: 4 })
  .map(headers => draft => ({ ...draft, headers: { ...draft.headers, ...Object.fromEntries(headers) } }));

const cookieName = fc.constantFrom(
  ...['session', 'browser', 'login0', 'login1', 'login3'].map(name => `postern_${name}`),
  ...['', 'a', '__proto__', '__Host-postern_session', '$Version'],
);
const inCookies: Damage = fc
  .tuple(fc.nat({ max: 9 }), fc.nat({ max: 6 }), cookieName, oddHeader, fc.nat({ max: 60 }))
  .map(([at, how, name, value, cut]) => draft => {
    const { cookies } = draft;
    const old = cookies[at % Math.max(1, cookies.length)]?.[1] ?? '';
    const other = cookies[(at + 1) % Math.max(1, cookies.length)]?.[1] ?? '';
    const by: Pair = [name, [value, old.slice(0, cut), other, old + old, `"${old}"`, old.toLowerCase()][at % 6] ?? ''];
    return { ...draft, cookies: damagedPairs(cookies, at, how, by) };
  });

const inMethod: Damage = fc
  .constantFrom(...['HEAD', 'OPTIONS', 'PUT', 'PATCH', 'DELETE', 'TRACE', 'PROPFIND', 'QUERY', 'PURGE', 'GET', 'POST'])
  .map(method => draft => ({ ...draft, method }));

const inBody: Damage = fc
  .tuple(fc.nat({ max: 1000 }), pairDamage, oddJson, oddText)
  .map(([n, [at, how, by], json, text]) => draft => {
    const { body } = draft;
    if (body.type === 'form' && n > 100)
      return { ...draft, body: { ...body, fields: damagedPairs(body.fields, at, how, by) } };
    if (n > 300) return { ...draft, body: { type: 'json', json } };
    return { ...draft, body: { type: 'text', text: text.toWellFormed() } };
  });

/** Arbitrary damage. A POST may still be valid by chance. */
const odd: Damage = fc.oneof(
  { weight: 4, arbitrary: inBody },
  { weight: 3, arbitrary: inQuery },
  { weight: 3, arbitrary: inPath },
  { weight: 3, arbitrary: inCookies },
  { weight: 2, arbitrary: inHeaders },
  { weight: 1, arbitrary: manyInQuery },
  { weight: 1, arbitrary: inMethod },
);

/** An invalid API key in any form. */
const badBearer = fc.oneof(
  oddHeader,
  oddHeader.map(text => `Bearer ${text}`),
  fc.tuple(fc.base64String({ maxLength: 40 }), fc.base64String({ maxLength: 60 })).map(([a, b]) => `Bearer ${a}.${b}.`),
  fc.constantFrom(
    ...['Bearer', 'Bearer pk_tracker', 'Basic dDp0', 'bearer  x', `Bearer ${'x'.repeat(5000)}`, 'Bearer e30.e30.'],
    'Bearer eyJhbGciOiJub25lIn0.eyJpc3MiOiJ0cmFja2VyIn0.',
  ),
);
const withoutAuthority: Damage = fc
  .tuple(badBearer, inCookies, fc.nat({ max: 4 }))
  .map(([authorization, , n]) => draft => ({
    ...draft,
    headers: {
      ...draft.headers,
      ...('authorization' in draft.headers ? { authorization } : {}),
      ...('stripe-signature' in draft.headers ? { 'stripe-signature': authorization } : {}),
      ...(n === 0 ? { origin: 'https://evil.example' } : {}),
    },
    cookies: [],
    // Without a valid API key a caller gets 401, whatever else is wrong.
    ...('authorization' in draft.headers ? { answeredBy: 401 } : {}),
  }));
const withoutItsOnce: Damage = fc.tuple(oddInUrl, pairDamage).map(([value, [at, how, by]]) => draft => ({
  ...draft,
  query: damagedPairs(
    draft.query.map(([name, old]) => [name, name === draft.spends ? `x${value}` : old]),
    at,
    how,
    by,
  ),
}));
const foreignOrigin: Damage = fc
  .constantFrom<Record<string, string>>(
    { origin: 'null', 'sec-fetch-site': 'cross-site' },
    { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { 'sec-fetch-site': '' },
    { origin: '', 'sec-fetch-site': 'none' },
  )
  .map(headers => draft => ({ ...draft, headers: { ...draft.headers, ...headers } }));
const badToken: Damage = fc.oneof(oddInUrl, fc.constantFrom('A'.repeat(43), '')).map(value => draft => ({
  ...draft,
  body:
    draft.body.type === 'form'
      ? {
          type: 'form',
          fields: [...draft.body.fields.filter(([name]) => name !== 'csrf_token'), ['csrf_token', `x${value}`]],
        }
      : draft.body,
}));
const unknownField: Damage = pair.map(([, value]) => draft => ({
  ...draft,
  body:
    draft.body.type === 'form'
      ? { type: 'form', fields: [...draft.body.fields, ['no.field.of.ours', value]] }
      : draft.body,
}));
const badMediaType: Damage = fc
  .constantFrom('text/plain', 'multipart/form-data; boundary=x', 'application/xml', 'application/jsonp', 'x', '/')
  .map(type => draft => ({ ...draft, headers: { ...draft.headers, 'content-type': type } }));

/**
 * Damaged variants of these requests. `refused`: the gateway must refuse all of them and change nothing. `odd`: may be accepted,
 * because the damaged part may still be valid.
 */
export function damaged(drafts: readonly Draft[], which: 'refused' | 'odd'): fc.Arbitrary<Draft> {
  return fc.oneof(...drafts.map(draft => damagedOne(draft, which)));
}

function damagedOne(draft: Draft, which: 'refused' | 'odd'): fc.Arbitrary<Draft> {
  const by = (damage: Damage) => damage.map(change => change(draft));
  const { body, refusedBy } = draft;
  const own = refusedBy === undefined ? [] : [{ weight: 1, arbitrary: by(refusedBy) }];
  const faults = body.type === 'json' ? jsonFaults(body.json, draft.isValidJson) : undefined;
  if (which === 'odd') {
    const twice = fc.tuple(odd, odd).map(([one, other]) => other(one(draft)));
    const bodies =
      faults === undefined ? [] : [{ weight: 3, arbitrary: faults.odd.map(json => withJson(draft, json)) }];
    return fc.oneof({ weight: 4, arbitrary: by(odd) }, { weight: 2, arbitrary: twice }, ...bodies);
  }
  if (faults !== undefined) {
    const faulty = faults.refused.map(json => withJson(draft, json));
    return fc.oneof(
      { weight: 4, arbitrary: faulty },
      // No header makes it valid.
      { weight: 1, arbitrary: fc.tuple(inHeaders, faulty).map(([change, each]) => change(each)) },
      { weight: 1, arbitrary: by(withoutAuthority) },
      { weight: 1, arbitrary: by(badMediaType) },
      ...own,
    );
  }
  switch (body.type) {
    case 'form':
      return fc.oneof(
        ...[foreignOrigin, badToken, unknownField, badMediaType].map(by),
        ...(draft.isForAnyone ? [] : [by(withoutAuthority)]),
      );
    default:
      return fc.oneof(
        { weight: 1, arbitrary: by(draft.spends === undefined ? withoutAuthority : withoutItsOnce) },
        ...own,
      );
  }
}

const withJson = (draft: Draft, json: string): Draft => ({ ...draft, body: { type: 'json', json } });
