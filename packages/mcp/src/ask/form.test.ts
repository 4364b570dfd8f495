import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { z } from 'zod/v4';
import { legacyWorld } from '../testing/legacy-world.ts';
import { modernWorld, type RawAnswer, textOf } from '../testing/modern-world.ts';

type World = Awaited<ReturnType<typeof modernWorld>>;

const elicitation = { form: {}, url: {} };
const start = (world: World, title: string, declared: Record<string, unknown> = elicitation) =>
  world.call({ name: 'outcome', args: { title }, elicitation: declared });
const goOn = (world: World, title: string, before: RawAnswer, gate: object) =>
  world.call({
    name: 'outcome',
    args: { title },
    elicitation,
    inputResponses: { gate },
    requestState: before.result.requestState,
  });
const content = { branch: 'main', notify: false };
const paramsOf = (answer: RawAnswer) => answer.result.inputRequests?.['gate']?.params;

describe('2026-07-28', () => {
  test('the MCP client shows the form, and no request reaches the gateway', async () => {
    await using world = await modernWorld();
    const first = await start(world, 'form');
    expect(paramsOf(first)).toMatchObject({ mode: 'form', message: 'Release' });
    expect(paramsOf(first)?.requestedSchema.required).toEqual(['branch']);
    const done = await goOn(world, 'form', first, { action: 'accept', content });
    expect(textOf(done)).toBe('accept main false by mcp-client');
    expect(world.gateway.requests).toEqual([]);
  });

  test.each([
    ['decline', 'decline: declined'],
    ['cancel', 'cancel: cancelled'],
  ])("a %s of the MCP client counts as the user's answer", async (action, said) => {
    await using world = await modernWorld();
    expect(textOf(await goOn(world, 'form', await start(world, 'form'), { action }))).toBe(said);
  });

  test.each<[string, object]>([
    ['none', {}],
    ['another type', { content: { branch: 7 } }],
    ['a stranger', { content: { ...content, admin: true } }],
    ['too much', { content: { branch: 'x'.repeat(5000) } }],
    ['no object', { content: ['main'] }],
  ])('invalid content is asked for once more, then it is an error: %s', async (_name, rest) => {
    await using world = await modernWorld();
    const bad = { action: 'accept', ...rest };
    const second = await goOn(world, 'form', await start(world, 'form'), bad);
    expect(paramsOf(second)?.mode).toBe('form');
    expect(paramsOf(second)?.message).not.toBe('Release');
    expect(textOf(await goOn(world, 'form', second, bad))).toBe('error: form_content_invalid');
    expect(textOf(await goOn(world, 'form', second, { action: 'accept', content }))).toContain('accept main');
  });

  test('does not repeat unknown field names from the MCP client', async () => {
    await using world = await modernWorld();
    const made = { action: 'accept', content: { branch: '', 'Paste your password\u202e\n': 'x' } };
    const second = await goOn(world, 'form', await start(world, 'form'), made);
    expect(paramsOf(second)?.message).toMatch(/branch$/);
    expect(second.frames).not.toContain('password');
  });

  test('a retry without an answer is asked again and does not count as an answer', async () => {
    await using world = await modernWorld();
    let answer = await start(world, 'form');
    for (let round = 0; round < 4; round += 1) {
      answer = await goOn(world, 'form', answer, { wrong: 1 });
      expect(paramsOf(answer)?.message).toBe('Release');
    }
    expect(textOf(await goOn(world, 'form', answer, { action: 'accept', content }))).toContain('accept main');
  });

  test('uses the page after the last round of the MCP client', async () => {
    await using world = await modernWorld({ maxRounds: 1 });
    const last = await goOn(world, 'form', await start(world, 'form'), {});
    expect(textOf(last)).toContain(world.gateway.elicitations[0]?.url);
    world.gateway.end('completed', 'el-1', content);
    expect(textOf(await start(world, 'form'))).toBe('accept main false by page');
  });

  test('a form with a secret opens as a page, whatever the MCP client supports', async () => {
    await using world = await modernWorld({ holdMs: 0 });
    const first = await start(world, 'secret_form');
    expect(paramsOf(first)?.mode).toBe('url');
    expect(world.gateway.requests[0]?.body).toMatchObject({ form: { secretFields: ['branch'] } });
    world.gateway.end('completed', 'el-1', content);
    expect(textOf(await goOn(world, 'secret_form', first, { action: 'accept' }))).toBe('accept by page');
    const other = await start(world, 'secret_form', { form: {} });
    expect(textOf(other)).toContain(world.gateway.elicitations[1]?.url);
  });

  test('shows the form although another client of the user, which shows none, got the link', async () => {
    await using world = await modernWorld({ holdMs: 0 });
    expect(textOf(await start(world, 'form', { sampling: {} }))).toContain(world.gateway.elicitations.at(-1)?.url);
    expect(paramsOf(await start(world, 'form', { form: {} }))?.mode).toBe('form');
    // The user may have it open.
    expect(world.gateway.elicitations.at(-1)?.status).toBe('pending');
  });

  test('keeps a page that the user has opened, and its answer', async () => {
    await using world = await modernWorld({ holdMs: 0 });
    await start(world, 'form', { sampling: {} });
    world.gateway.suspend('active');
    expect(textOf(await start(world, 'form', { form: {} }))).toContain(world.gateway.elicitations.at(-1)?.url);
    expect(world.gateway.elicitations.map(({ status }) => status)).toEqual(['active']);
  });

  test.each(['url_of_hosts', 'piped'])('opens a form as a page whose expression is hidden in %s', async script => {
    await using world = await modernWorld({ holdMs: 0 });
    expect(paramsOf(await start(world, script))?.mode).toBe('url');
  });

  test('S221: a form whose field looks secret opens as a page, unless the author says otherwise', async () => {
    await using world = await modernWorld({ holdMs: 0 });
    expect(paramsOf(await start(world, 'password_form'))?.mode).toBe('url');
    expect(world.gateway.requests[0]?.body).toMatchObject({ form: { secretFields: ['password'] } });
    expect(paramsOf(await start(world, 'asks_for_a_key'))?.mode).toBe('url');
    expect(paramsOf(await start(world, 'no_secret_form'))?.mode).toBe('form');
    expect(paramsOf(await start(world, 'pin_form'))?.mode).toBe('url');
  });

  test('a form with a pattern opens as a page, so the pattern never runs on content of an MCP client', async () => {
    await using world = await modernWorld({ holdMs: 0 });
    const first = await start(world, 'pattern_form');
    expect(paramsOf(first)?.mode).toBe('url');
    world.gateway.end('completed', 'el-1', { code: 'KI' });
    expect(textOf(await goOn(world, 'pattern_form', first, { action: 'accept' }))).toBe('KI by page');
  });

  test('a form too large for the MCP client opens as a page', async () => {
    await using world = await modernWorld({ holdMs: 0 });
    const long = { first: 'x'.repeat(4000), second: 'x'.repeat(4000), third: 'x'.repeat(4000), last: 'x'.repeat(4096) };
    const first = await start(world, 'long_form', { url: {} });
    world.gateway.end('completed', undefined, { ...long, fifth: 'x'.repeat(4000) });
    expect(textOf(await goOn(world, 'long_form', first, { action: 'accept' }))).toBe('20096 by page');
    const inBand = await start(world, 'long_form');
    const content = { ...long, fifth: 'x'.repeat(4000) };
    expect(paramsOf(await goOn(world, 'long_form', inBand, { action: 'accept', content }))?.mode).toBe('form');
  });

  test('asks for single values: a text, yes or no, one of a list', async () => {
    await using world = await modernWorld();
    const first = await start(world, 'shorthands');
    expect(paramsOf(first)?.message).toBe('Which branch?');
    const second = await goOn(world, 'shorthands', first, { action: 'accept', content: { value: 'main' } });
    expect(paramsOf(second)?.requestedSchema.properties['value']?.type).toBe('boolean');
    const third = await goOn(world, 'shorthands', second, { action: 'accept', content: { value: false } });
    const refused = await goOn(world, 'shorthands', third, { action: 'accept', content: { value: 'huge' } });
    expect(paramsOf(refused)?.mode).toBe('form');
    const done = await goOn(world, 'shorthands', refused, { action: 'accept', content: { value: 'major' } });
    expect(textOf(done)).toBe('main false major');
  });

  test('keeps form content while a later ask is open, and no frame shows it', async () => {
    await using world = await modernWorld({ holdMs: 0 });
    await fc.assert(
      fc.asyncProperty(fc.string({ minLength: 12, maxLength: 4000, unit: 'grapheme' }), async typed => {
        fc.pre(typed.trim().length >= 12);
        const first = await start(world, 'form_then_confirm');
        const second = await goOn(world, 'form_then_confirm', first, { action: 'accept', content: { branch: typed } });
        if (paramsOf(second)?.mode === 'form') return; // A form does not carry values that it refuses.
        expect(paramsOf(second)?.mode).toBe('url');
        const parts = (second.result.requestState ?? '').split('.').map(part => Buffer.from(part, 'base64url'));
        expect(second.frames).not.toContain(JSON.stringify(typed).slice(1, -1));
        for (const part of parts) expect(part.includes(Buffer.from(typed))).toBe(false);
        const { elicitationId } = world.gateway.end('completed');
        const done = await goOn(world, 'form_then_confirm', second, { action: 'accept' });
        expect(textOf(done)).toBe(`${typed.slice(0, 20)} receipt-of-${elicitationId}`);
      }),
      { numRuns: 40 },
    );
  });

  test('the state grows with the form content, up to its limit', async () => {
    await using world = await modernWorld({ holdMs: 0 });
    const first = await start(world, 'form_then_confirm');
    const most = await goOn(world, 'form_then_confirm', first, {
      action: 'accept',
      content: { branch: '\u{1F600}'.repeat(4000) },
    });
    expect(paramsOf(most)?.mode).toBe('url');
    expect(most.result.requestState?.length).toBeLessThan(65_536);
    world.gateway.end('completed');
    expect(textOf(await goOn(world, 'form_then_confirm', most, { action: 'accept' }))).toContain('receipt-of-el-1');
  });
});

describe.each(['v2', 'v1'] as const)('2025-11-25, SDK %s', sdk => {
  test.each([
    ['decline', 'decline: declined'],
    ['cancel', 'cancel: cancelled'],
  ] as const)("a %s of the MCP client counts as the user's answer", async (action, said) => {
    await using world = await legacyWorld(sdk);
    const host = await world.connect(sdk, { fill: () => ({ action }) });
    expect((await host.call('form')).text).toBe(said);
    expect(world.gateway.requests).toEqual([]);
  });

  test('invalid content is asked for once more, then it is an error', async () => {
    await using world = await legacyWorld(sdk);
    const contents = [{ branch: '' }, { branch: 'main' }, { branch: '' }, { branch: '' }];
    const asked: string[] = [];
    const host = await world.connect(sdk, {
      fill({ message }) {
        asked.push(message);
        return { action: 'accept', content: contents.shift() ?? {} };
      },
    });
    expect((await host.call('form')).text).toBe('accept main true by mcp-client');
    expect((await host.call('form')).text).toBe('error: form_content_invalid');
    expect(asked).toHaveLength(4);
    expect(new Set(asked).size).toBe(2);
  });

  test('choices go out as the negotiated revision knows them', async () => {
    await using world = await legacyWorld(sdk);
    const asked = async (tool: string, revision: string, content: { size: string } | { sizes: string[] }) => {
      const schemas: unknown[] = [];
      const host = await world.connect('v2', {
        revision,
        fill({ requestedSchema }) {
          schemas.push(z.object({ properties: z.record(z.string(), z.unknown()) }).parse(requestedSchema).properties);
          return { action: 'accept', content };
        },
      });
      return [(await host.call(tool)).text, ...schemas];
    };
    const [small, ...rest] = [
      { const: 's', title: 'Small' },
      { const: 'l', title: 'Large' },
    ];
    expect(await asked('titled_form', '2025-11-25', { size: 's' })).toEqual([
      's by mcp-client',
      { size: { type: 'string', oneOf: [small, ...rest] } },
    ]);
    expect(await asked('titled_form', '2025-06-18', { size: 'l' })).toEqual([
      'l by mcp-client',
      { size: { type: 'string', enum: ['s', 'l'], enumNames: ['Small', 'Large'] } },
    ]);
    expect(await asked('several_form', '2025-11-25', { sizes: ['s'] })).toMatchObject(['s by mcp-client', {}]);
    // A choice of several has no older form.
    expect(await asked('several_form', '2025-06-18', { sizes: ['s'] })).toHaveLength(1);
    expect(world.gateway.elicitations).toMatchObject([{ kind: 'form', status: 'pending' }]);
  });

  test('uses the page for an MCP client that cannot answer', async () => {
    await using world = await legacyWorld(sdk);
    const host = await world.connect(sdk, {
      fill() {
        throw new Error('no dialog');
      },
    });
    expect((await host.call('form')).error?.code).toBe(-32042);
    world.gateway.end('completed', 'el-1', { branch: 'main' });
    expect((await host.call('form')).text).toBe('accept main true by page');
  });

  test('keeps form content while a later ask is open', async () => {
    await using world = await legacyWorld(sdk);
    let asked = 0;
    const host = await world.connect(sdk, {
      fill() {
        asked += 1;
        return { action: 'accept', content: { branch: `main-${asked}` } };
      },
    });
    expect((await host.call('form_then_confirm')).error?.code).toBe(-32042);
    world.gateway.end('completed');
    expect((await host.call('form_then_confirm')).text).toBe('main-1 receipt-of-el-1');
    expect(asked).toBe(1);
  });
});
