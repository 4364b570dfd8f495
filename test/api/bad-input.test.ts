import { type Operation, operations } from '@postern/api';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createFuzzer, type Fuzzer } from '../support/fuzzer.ts';
import { hostileText, hostileValue, withOneFault } from '../support/hostile-input.ts';
import { asHeader, hostileUrlParts, MARKUP } from '../support/hostile-values.ts';
import { connectAccount } from '../support/person-at-gateway.ts';
import { type Stage, startStage } from '../support/stage.ts';
import { askFor, keyOf } from '../support/world.ts';

let stage: Stage;
let own = { elicitationId: '', connectionId: '', subject: '' };
let signedIn = new Map<string, string>();
let fuzzer: Fuzzer;

beforeAll(async () => {
  stage = await startStage({
    mcpServer: { limits: { requestsPerMinute: 10_000_000, elicitationsPerSubject: 1_000_000 } },
    otherMcpServers: [
      {
        id: 'app',
        identity: { mode: 'external', verifyUrl: 'http://localhost:7001/verify' },
        limits: { requestsPerMinute: 10_000_000 },
      },
    ],
  });
  const subject = stage.subject();
  const done = await stage.ask(subject);
  await connectAccount(stage.raw(), done.elicitationId, subject);
  const connectionId = (await stage.api.read(done.elicitationId)).body.outcome?.connectionId ?? '';
  own = {
    elicitationId: (await stage.ask(subject, { authorization: { provider: 'forge', scopes: ['issues'] } }))
      .elicitationId,
    connectionId,
    subject,
  };
  const browser = stage.raw();
  await browser.signIn(own.elicitationId, subject);
  await browser.accept(own.elicitationId);
  signedIn = browser.cookies;
  fuzzer = createFuzzer(stage.world);
});
afterAll(async () => {
  fuzzer?.[Symbol.dispose]();
  await stage?.[Symbol.asyncDispose]();
});

const is4xx = (status: number): boolean => status >= 400 && status < 500;
const json = { authorization: `Bearer ${keyOf('tracker')}`, 'content-type': 'application/json' };
const asApplication = { ...json, authorization: `Bearer ${keyOf('app')}` };

/** A text as it may stand in a request line: nothing that ends the line or the target. */
const inPath = hostileText.map(text => encodeURIComponent(text.toWellFormed()).replaceAll('.', '%2E'));
const rawPath = fc.array(fc.constantFrom(...hostileUrlParts), { maxLength: 12 }).map(parts => parts.join(''));
const inHeader = hostileText.map(text => asHeader(text, 4000));
const queryOf = (names: readonly string[]) =>
  fc
    .array(fc.tuple(fc.oneof(fc.constantFrom(...names), hostileText), hostileText), { maxLength: 6 })
    .map(pairs =>
      new URLSearchParams(
        pairs.map(([name, value]) => [name.toWellFormed().slice(0, 300), value.toWellFormed().slice(0, 1500)]),
      )
        .toString()
        .slice(0, 8000),
    );

describe('S44, S47: hostile bodies', () => {
  const validIssue = () =>
    askFor(stage.world, own.subject, {
      ttlSeconds: 60,
      requestedBy: { mcpClient: 'Host', tool: 'tool' },
    });
  const validVerify = () => ({
    verificationId: 'x',
    subject: { issuer: stage.world.identityProvider.issuer, subject: own.subject },
    authTime: 1,
  });

  it('issue: one hostile field in a valid request', async () => {
    // Without the fault it is accepted, so each refusal is about the fault.
    expect([200, 201]).toContain((await stage.api.issue(validIssue())).status);
    const body = withOneFault(validIssue());
    await fuzzer.run(
      body.map(text => ({ method: 'POST', path: '/v1/elicitations', headers: json, body: text })),
      is4xx,
    );
  });

  it('issue: hostile values of every shape', async () => {
    const bodies = fc.oneof(
      hostileValue.map(value => JSON.stringify(value) ?? ''),
      fc
        .record(
          { kind: hostileValue, subject: hostileValue, authorization: hostileValue, [MARKUP]: hostileValue },
          { requiredKeys: [] },
        )
        .map(value => JSON.stringify(value)),
      hostileText,
    );
    await fuzzer.run(
      bodies.map(body => ({ method: 'POST', path: '/v1/elicitations', headers: json, body })),
      is4xx,
    );
  });

  it('verify: one hostile field in a valid request', async () => {
    const path = `/v1/elicitations/${own.elicitationId}/verify`;
    await fuzzer.run(
      withOneFault(validVerify()).map(body => ({ method: 'POST', path, headers: asApplication, body })),
      is4xx,
    );
  });

  it.each(['/v1/elicitations/{elicitationId}/cancel', '/v1/connections/{connectionId}/access-token'])(
    '%s takes no body',
    async template => {
      const path = template.replace('{elicitationId}', own.elicitationId).replace('{connectionId}', own.connectionId);
      const notEmpty = hostileValue
        .map(value => JSON.stringify(value) ?? '')
        .filter(text => !['null', '{}', ''].includes(text.trim()));
      await fuzzer.run(
        notEmpty.map(body => ({ method: 'POST', path, headers: json, body })),
        is4xx,
      );
    },
  );
});

describe('S44: hostile ids, queries and headers', () => {
  const withId = Object.entries(operations as Record<string, Operation>).filter(([, { path }]) => path.includes('{'));

  it.each(withId)('%s: ids', async (_, { method, path }) => {
    const ids = fc.oneof(
      inPath,
      rawPath,
      fc.constantFrom(
        `${own.elicitationId}%00`,
        `${own.elicitationId}/`,
        `${own.elicitationId};x`,
        own.elicitationId.toUpperCase(),
      ),
    );
    await fuzzer.run(
      ids.map(id => ({
        method,
        path: path.replace(/\{[^}]+\}/, id.slice(0, 10_000)),
        headers: { authorization: json.authorization },
      })),
      // An id may contain what leads to another route: the list of connections without its parameters, a page.
      status => status < 500,
    );
  });

  it('read and list: queries', async () => {
    const read = queryOf(['wait', 'wait[]', '__proto__']).map(
      query => `/v1/elicitations/${own.elicitationId}?wait=x&${query}`,
    );
    const list = queryOf(['issuer', 'subject', 'provider', 'constructor']).map(
      query => `/v1/connections?issuer=%00&${query}`,
    );
    const events = queryOf(['kind', 'status', 'after', 'kind[]']).map(query => `/v1/events?after=x&${query}`);
    await fuzzer.run(
      fc
        .oneof(read, list, events)
        .map(path => ({ method: 'GET', path, headers: { authorization: json.authorization } })),
      is4xx,
    );
  });

  it('Last-Event-ID', async () => {
    const positions = fc.oneof(
      inHeader.map(text => `x${text}`),
      fc.tuple(fc.maxSafeNat(), fc.maxSafeNat()).map(([time, count]) => `${time}-${count}x`),
      fc.tuple(fc.bigInt({ min: 10n ** 15n, max: 10n ** 60n }), fc.nat()).map(([time, count]) => `${time}-${count}`),
    );
    await fuzzer.run(
      positions.map(position => ({
        method: 'GET',
        path: '/v1/events',
        headers: { authorization: json.authorization, 'last-event-id': position },
      })),
      is4xx,
    );
  });

  it('credentials', async () => {
    const credentials = fc.oneof(
      inHeader,
      inHeader.map(text => `Bearer ${text}`),
      fc.tuple(fc.base64String(), fc.base64String(), fc.base64String()).map(parts => `Bearer ${parts.join('.')}`),
      fc.constant(`Bearer ${keyOf('tracker')}x`),
    );
    await fuzzer.run(
      credentials.map(authorization => ({
        method: 'GET',
        path: `/v1/elicitations/${own.elicitationId}`,
        headers: { authorization },
      })),
      status => status === 401,
    );
  });

  it('Idempotency-Key, media type and the rest', async () => {
    const names = [
      'idempotency-key',
      'content-type',
      'accept',
      'accept-language',
      'x-forwarded-for',
      'cookie',
      'origin',
    ];
    const headers = fc.dictionary(fc.constantFrom(...names), inHeader, { maxKeys: 4 });
    await fuzzer.run(
      headers.map(more => ({
        method: 'POST',
        path: '/v1/elicitations',
        headers: { ...json, ...more },
        // Not valid, so that nothing may come of it whatever the headers are.
        body: '{"kind":"authorization"}',
      })),
      is4xx,
    );
  });
});

describe('S44: hostile browsers', () => {
  const cookieHeader = (values: readonly (readonly [string, string])[]) =>
    values.map(([name, value]) => `${name}=${value}`).join('; ');
  const cookieNames = ['session', 'browser', 'login0', 'login1', 'login3'].map(name => `postern_${name}`);
  const cookies = fc
    .array(
      fc.tuple(
        fc.oneof(fc.constantFrom(...cookieNames), fc.constantFrom('', 'a', '__proto__', '__Host-postern_session')),
        fc.oneof(
          inHeader.map(text => text.slice(0, 300)),
          // Real values of this browser, under any name, cut or doubled.
          fc.tuple(fc.nat(), fc.double({ min: 0, max: 2, noNaN: true })).map(([n, cut]) => {
            const values = [...signedIn.values()];
            const value = values[n % Math.max(values.length, 1)] ?? '';
            return (value + value).slice(0, Math.floor(value.length * cut));
          }),
        ),
      ),
      { maxLength: 8 },
    )
    .map(cookieHeader);

  it('the callback: parameters, path and cookies', async () => {
    const names = ['code', 'state', 'iss', 'error', 'error_description', 'response', 'session_state'];
    const paths = fc.oneof(
      fc.constantFrom('tracker/forge', 'app/forge', 'tracker/elsewhere', 'nobody/forge', '__proto__/constructor'),
      fc.tuple(inPath, inPath).map(([a, b]) => `${a.slice(0, 2000)}/${b.slice(0, 2000)}`),
    );
    await fuzzer.run(
      fc.tuple(paths, queryOf(names), cookies).map(([path, query, cookie]) => ({
        method: 'GET',
        path: `/callback/${path}?${query}`,
        headers: { cookie },
      })),
      is4xx,
    );
  });

  it('the sign-in callback and the ticket', async () => {
    const callback = queryOf(['code', 'state', 'iss', 'error']).map(query => `/login/callback?${query}`);
    const ticket = queryOf(['ticket']).map(query => `/login/continue?${query}`);
    await fuzzer.run(
      fc
        .tuple(fc.oneof(callback, ticket), cookies)
        .map(([path, cookie]) => ({ method: 'GET', path, headers: { cookie } })),
      is4xx,
    );
  });

  it('pages: anything in id, query, language and cookies shows a page or sends somewhere of ours', async () => {
    const pages = fc.oneof(
      fc
        .tuple(fc.oneof(inPath, fc.constant(own.elicitationId)), queryOf(['switch']))
        .map(([id, query]) => `/e/${id.slice(0, 4000)}?${query}`),
      fc.oneof(inPath, fc.constant(own.elicitationId)).map(id => `/e/${id.slice(0, 4000)}/leaving`),
      rawPath.map(path => `/e/${path}`),
      queryOf(['e', 'switch']).map(query => `/login?${query}`),
    );
    await fuzzer.run(
      fc.tuple(pages, cookies, inHeader).map(([path, cookie, language]) => ({
        method: 'GET',
        path,
        headers: { cookie, 'accept-language': language },
      })),
      status => status < 500,
    );
  });

  it('forms: nothing passes without a token of this browser', async () => {
    const forms = fc.oneof(
      queryOf(['csrf_token', 'csrf_token[]', '__proto__']),
      hostileText.map(text => text.toWellFormed()),
      hostileValue.map(value => JSON.stringify(value) ?? ''),
    );
    const targets = fc.constantFrom(
      `/e/${own.elicitationId}/accept`,
      `/e/${own.elicitationId}/decline`,
      '/e/x/accept',
      '/logout?e=x',
      `/logout?e=${own.elicitationId}`,
    );
    const types = fc.constantFrom('application/x-www-form-urlencoded', 'application/json', 'multipart/form-data', '');
    await fuzzer.run(
      fc.tuple(targets, forms, types).map(([path, body, type]) => ({
        method: 'POST',
        path,
        // Signed in for real: only the token is missing.
        headers: {
          cookie: cookieHeader([...signedIn]),
          origin: stage.world.publicUrl,
          'sec-fetch-site': 'same-origin',
          'content-type': type,
        },
        body,
      })),
      is4xx,
    );
  });
});
