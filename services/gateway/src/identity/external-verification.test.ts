import { digestOf, newVerificationId, shardIn, systemEntropy } from '@postern/elicitation';
import { samples } from '@postern/testkit/contract';
import { describe, expect, it, vi } from 'vitest';
import { registerMcpServer } from '../mcp-servers/registered-mcp-server.ts';
import { createFlowStage, ofAuthorization, signedInAs } from '../testing/flow-stage.ts';
import { createExternalVerification } from './external-verification.ts';

// S10. With a real application and real browsers: test/e2e/external-mode.browser.test.ts.

const verifyUrl = 'https://app.example/verify';
const browser = digestOf('the browser that opened the link');
const refused = { result: 'refused', code: 'ticket_refused' };

async function setUp() {
  const stage = createFlowStage({}, { mcpServer: { identity: { mode: 'external', verifyUrl } } });
  const finishVerified = vi.fn(async elicitation => elicitation);
  const flow = createExternalVerification({ ...stage, oauthCallback: { finishVerified } });
  async function ask() {
    const request = samples.ask(stage.subject, { coalescingDigest: samples.operation() });
    const elicitation = { ...request.elicitation, identityMode: 'external' } as const;
    return ofAuthorization(await samples.created(stage.stores.elicitations, { ...request, elicitation }));
  }
  const elicitation = await ask();
  const opened = async (of = elicitation, maxAge?: number) =>
    (
      await flow.opening({ verifyUrl, mcpServerId: of.mcpServerId }, of.elicitationId, browser, maxAge)
    ).searchParams.get('verificationId') ?? '';
  return {
    ...stage,
    flow,
    ask,
    elicitation,
    opened,
    finishVerified,
    /** The ticket that the browser gets after the application has verified the user. */
    async ticket(p: { maxAge?: number; authTime?: number } = {}): Promise<string> {
      const { maxAge, authTime } = p;
      const request = { verificationId: await opened(elicitation, maxAge), subject: stage.subject, authTime };
      const { continueUrl } = await flow.verify(stage.caller(), elicitation.elicitationId, request);
      return new URL(continueUrl).searchParams.get('ticket') ?? '';
    },
    /** The verification id after the OAuth callback, while the gateway holds the code. */
    async held(): Promise<string> {
      const { elicitationId, mcpServerId, request } = elicitation;
      const visitor = { ...signedInAs(stage.subject), vouchedBy: mcpServerId };
      const attempt = digestOf('attempt');
      const record = { digest: attempt, elicitationId, mcpServerId, provider: request.provider, sealed: 'sealed' };
      await stage.service.accept(elicitationId, visitor, { record, ttlMs: 60_000 }, request.scopes);
      const verificationId = newVerificationId(shardIn(elicitationId), systemEntropy);
      const held = { digest: digestOf(verificationId), elicitationId, mcpServerId, sealed: 'sealed' };
      await stage.service.hold(elicitationId, attempt, { record: held, ttlMs: 60_000 });
      return verificationId;
    },
  };
}

describe('S10: when the link is opened', () => {
  it('the ticket creates one session, in the browser that opened the link', async () => {
    const { flow, ticket, subject, elicitation } = await setUp();
    const sealed = await ticket();
    expect(await flow.redeemTicket(sealed, browser)).toMatchObject({
      browserSession: { subject, origin: { vouchedBy: 'issue-tracker' } },
      returnTo: elicitation.elicitationId,
    });
    expect(await flow.redeemTicket(sealed, browser)).toEqual(refused);
  });

  it('S50: rejects a ticket of another deployment with the same vault key', async () => {
    const { flow, ticket, config, ...stage } = await setUp();
    const elsewhere = createExternalVerification({
      ...stage,
      config: { ...config, publicUrl: 'https://other.example' },
      oauthCallback: { finishVerified: stage.finishVerified },
    });
    const sealed = await ticket();
    expect(await elsewhere.redeemTicket(sealed, browser)).toEqual(refused);
    expect(await flow.redeemTicket(sealed, browser)).toMatchObject({ result: 'signed_in' });
  });

  it.each([undefined, digestOf('another browser')])(
    'a ticket that another browser presents cannot be used afterwards: %s',
    async by => {
      const { flow, ticket } = await setUp();
      const sealed = await ticket();
      expect(await flow.redeemTicket(sealed, by)).toEqual(refused);
      expect(await flow.redeemTicket(sealed, browser)).toEqual(refused);
    },
  );

  it.each([
    ['after an opening that requires it', 0, 0, 'proves'],
    ['before the opening, within the clock tolerance', 0, 30, 'proves'],
    ['before the opening', 0, 32, 'refused'],
    ['at an unknown time', 0, undefined, 'refused'],
    ['in the future, within the clock tolerance', 0, -59, 'proves'],
    ['in the future', 0, -62, 'refused'],
    ['after an opening that accepts an older sign-in', 300, 0, 'signed_in'],
  ] as const)('S88: the person signed in %s', async (_, maxAge, ago, result) => {
    const { flow, ticket, clock, elicitation, stores } = await setUp();
    const { elicitationId } = elicitation;
    const creating = vi.spyOn(stores.browserSessions, 'create');
    const authTime = ago === undefined ? {} : { authTime: Math.ceil(clock.now() / 1000) - ago };
    const redeemed = await flow.redeemTicket(await ticket({ maxAge, ...authTime }), browser);
    if (result === 'refused') {
      expect(redeemed).toEqual({ result, code: 'auth_time_too_old', returnTo: elicitationId });
      expect(creating).not.toHaveBeenCalled();
    } else {
      expect(redeemed).toMatchObject({ result: 'signed_in' });
      expect(creating.mock.calls[0]?.[0].provedFor).toBe(result === 'proves' ? elicitationId : undefined);
    }
  });

  it('a ticket expires after a minute', async () => {
    const { flow, ticket, clock } = await setUp();
    const sealed = await ticket();
    clock.advance(60_000);
    expect(await flow.redeemTicket(sealed, browser)).toEqual(refused);
  });

  it('rejects another person than the one of the elicitation', async () => {
    const { flow, caller, elicitation, opened } = await setUp();
    const request = { verificationId: await opened(), subject: samples.somebody() };
    const verified = flow.verify(caller(), elicitation.elicitationId, request);
    await expect(verified).rejects.toMatchObject({ code: 'wrong_person' });
  });

  it('rejects the verification id of another elicitation', async () => {
    const { flow, caller, elicitation, ask, opened, subject } = await setUp();
    const request = { verificationId: await opened(await ask()), subject };
    const verified = flow.verify(caller(), elicitation.elicitationId, request);
    await expect(verified).rejects.toMatchObject({ code: 'verification_unknown' });
  });

  it('rejects an MCP server in another identity mode', async () => {
    const { flow, caller, elicitation, opened, subject } = await setUp();
    const login = registerMcpServer({ ...caller().config, identity: { mode: 'login' } }, caller().limits.quota);
    const verified = flow.verify(login, elicitation.elicitationId, { verificationId: await opened(), subject });
    await expect(verified).rejects.toMatchObject({ code: 'identity_mode_mismatch' });
  });

  it('hides the elicitation from another MCP server', async () => {
    const { flow, caller, elicitation, opened, subject } = await setUp();
    const request = { verificationId: await opened(), subject };
    const verified = flow.verify(caller('calendar'), elicitation.elicitationId, request);
    await expect(verified).rejects.toMatchObject({ code: 'not_found' });
  });
});

describe('S10: after the OAuth callback', () => {
  it('exchanges the code once, after the application has verified the person', async () => {
    const { flow, caller, elicitation, held, subject, finishVerified } = await setUp();
    const request = { verificationId: await held(), subject };
    await flow.verify(caller(), elicitation.elicitationId, request);
    expect(finishVerified).toHaveBeenCalledOnce();
    const again = flow.verify(caller(), elicitation.elicitationId, request);
    await expect(again).rejects.toMatchObject({ code: 'verification_unknown' });
    expect(finishVerified).toHaveBeenCalledOnce();
  });

  it('the OAuth callback for another person never exchanges the code and fails the elicitation', async () => {
    const { flow, caller, elicitation, held, finishVerified, service } = await setUp();
    const request = { verificationId: await held(), subject: samples.somebody() };
    const verified = flow.verify(caller(), elicitation.elicitationId, request);
    await expect(verified).rejects.toMatchObject({ code: 'wrong_person' });
    expect(finishVerified).not.toHaveBeenCalled();
    expect(await service.find(elicitation.elicitationId)).toMatchObject({ status: 'failed', failure: 'wrong_person' });
  });
});
