import { digestOf, newVerificationId, shardIn, systemEntropy } from '@postern/elicitation';
import { samples } from '@postern/testkit/contract';
import { describe, expect, it, vi } from 'vitest';
import { registerMcpServer } from '../registered-mcp-server.ts';
import { createFlowStage, ofAuthorization, signedInAs } from '../testing/flow-stage.ts';
import { createExternalVerification } from './external-verification.ts';

// S10. With a real application and real browsers: test/e2e/external-mode.test.ts.

const verifyUrl = 'https://app.example/verify';
const browser = digestOf('the browser that opened the link');

async function setUp() {
  const stage = createFlowStage({}, { mcpServer: { identity: { mode: 'external', verifyUrl } } });
  const finishVerified = vi.fn(async elicitation => elicitation);
  const flow = createExternalVerification({ ...stage, authorizationFlow: { finishVerified } as never });
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
    ...{ flow, ask, elicitation, opened, finishVerified },
    /** The application has verified the person; the browser comes back with this ticket. */
    async ticket(p: { maxAge?: number; authTime?: number } = {}): Promise<string> {
      const { maxAge, authTime } = p;
      const request = { verificationId: await opened(elicitation, maxAge), subject: stage.subject, authTime };
      const { continueUrl } = await flow.verify(stage.caller(), elicitation.elicitationId, request);
      return new URL(continueUrl).searchParams.get('ticket') ?? '';
    },
    /** The provider has answered, and its code is held. */
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
  it('the ticket signs the person in, once, in the browser that asked', async () => {
    const { flow, ticket, subject, elicitation } = await setUp();
    const sealed = await ticket();
    expect(await flow.redeemTicket(sealed, browser)).toMatchObject({
      browserSession: { subject, origin: { vouchedBy: 'issue-tracker' } },
      elicitationId: elicitation.elicitationId,
    });
    expect(await flow.redeemTicket(sealed, browser)).toBeUndefined();
  });

  it('S50: a ticket of another deployment with the same vault key signs nobody in', async () => {
    const { flow, ticket, config, ...stage } = await setUp();
    const elsewhere = createExternalVerification({
      ...stage,
      config: { ...config, publicUrl: 'https://other.example' },
      authorizationFlow: { finishVerified: stage.finishVerified } as never,
    });
    const sealed = await ticket();
    expect(await elsewhere.redeemTicket(sealed, browser)).toBeUndefined();
    expect(await flow.redeemTicket(sealed, browser)).toBeDefined();
  });

  it.each([undefined, digestOf('another browser')])('a ticket is used up by another browser: %s', async by => {
    const { flow, ticket } = await setUp();
    const sealed = await ticket();
    expect(await flow.redeemTicket(sealed, by)).toBeUndefined();
    expect(await flow.redeemTicket(sealed, browser)).toBeUndefined();
  });

  it.each([
    ['after an opening that asked for that', 0, 0, true],
    ['before it, by clocks that differ', 0, 30, true],
    ['before it', 0, 32, false],
    ['at an unknown time', 0, undefined, false],
    ['after an opening that took an older sign-in', 300, 0, false],
  ] as const)('S67: the person signed in %s', async (_, maxAge, ago, proves) => {
    const { flow, ticket, clock, elicitation } = await setUp();
    const authTime = ago === undefined ? {} : { authTime: Math.ceil(clock.now() / 1000) - ago };
    const redeemed = await flow.redeemTicket(await ticket({ maxAge, ...authTime }), browser);
    expect(redeemed?.browserSession.provedFor).toBe(proves ? elicitation.elicitationId : undefined);
  });

  it('a ticket ends after a minute', async () => {
    const { flow, ticket, clock } = await setUp();
    const sealed = await ticket();
    clock.advance(60_000);
    expect(await flow.redeemTicket(sealed, browser)).toBeUndefined();
  });

  it('the application may not name another person', async () => {
    const { flow, caller, elicitation, opened } = await setUp();
    const request = { verificationId: await opened(), subject: samples.somebody() };
    const verified = flow.verify(caller(), elicitation.elicitationId, request);
    await expect(verified).rejects.toMatchObject({ code: 'wrong_person' });
  });

  it('a verification of another elicitation does not count', async () => {
    const { flow, caller, elicitation, ask, opened, subject } = await setUp();
    const request = { verificationId: await opened(await ask()), subject };
    const verified = flow.verify(caller(), elicitation.elicitationId, request);
    await expect(verified).rejects.toMatchObject({ code: 'verification_unknown' });
  });

  it('an MCP server of another identity mode may not verify', async () => {
    const { flow, caller, elicitation, opened, subject } = await setUp();
    const login = registerMcpServer({ ...caller().config, identity: { mode: 'login' } }, caller().limits.quota);
    const verified = flow.verify(login, elicitation.elicitationId, { verificationId: await opened(), subject });
    await expect(verified).rejects.toMatchObject({ code: 'identity_mode_mismatch' });
  });

  it('another MCP server may not verify', async () => {
    const { flow, caller, elicitation, opened, subject } = await setUp();
    const request = { verificationId: await opened(), subject };
    const verified = flow.verify(caller('calendar'), elicitation.elicitationId, request);
    await expect(verified).rejects.toMatchObject({ code: 'not_found' });
  });
});

describe('S10: when the provider has answered', () => {
  it('the code is used once, after the application has named the person', async () => {
    const { flow, caller, elicitation, held, subject, finishVerified } = await setUp();
    const request = { verificationId: await held(), subject };
    await flow.verify(caller(), elicitation.elicitationId, request);
    expect(finishVerified).toHaveBeenCalledOnce();
    const again = flow.verify(caller(), elicitation.elicitationId, request);
    await expect(again).rejects.toMatchObject({ code: 'verification_unknown' });
    expect(finishVerified).toHaveBeenCalledOnce();
  });

  it('for another person the code is never used, and the elicitation fails', async () => {
    const { flow, caller, elicitation, held, finishVerified, service } = await setUp();
    const request = { verificationId: await held(), subject: samples.somebody() };
    const verified = flow.verify(caller(), elicitation.elicitationId, request);
    await expect(verified).rejects.toMatchObject({ code: 'wrong_person' });
    expect(finishVerified).not.toHaveBeenCalled();
    expect(await service.find(elicitation.elicitationId)).toMatchObject({ status: 'failed', failure: 'wrong_person' });
  });
});
