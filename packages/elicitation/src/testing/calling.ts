import { expect } from 'vitest';
import type { Approval, Elicitation } from '../elicitation.ts';
import type { ElicitationService, RequestInput } from '../elicitation-service.ts';
import type { ElicitationId } from '../ids.ts';
import type { Visitor } from '../same-person-check.ts';
import { CANARY } from './invariants.ts';
import { credentialFor, requests } from './kind-bench.ts';
import { open } from './open.ts';
import type { Call, McpServerId, ModelVisitor } from './reference-model.ts';
import { connectionFor, ISSUER, mcpServer, oneTime, scopesOf, TTL_MS } from './samples.ts';

const server = (mcpServerId: McpServerId) =>
  mcpServer({ mcpServerId, identityMode: mcpServerId === 'calendar' ? 'external' : 'login' });

const visitorOf = ({ person, vouchedBy }: ModelVisitor): Visitor =>
  person === 'anonymous'
    ? { kind: 'loopback' }
    : {
        kind: 'signed_in',
        subject: { issuer: ISSUER, subject: person },
        vouchedBy,
      };

const SEALED = `sealed ${CANARY}`;

export interface Answer {
  readonly outcome: string;
  readonly answer: unknown;
}

/**
 * Makes one call of the model at the service.
 * @param read returns the current elicitation without the service
 * @param approve returns a new approval, recorded as given to exactly the request if `isShown`
 */
export async function callService(
  service: ElicitationService,
  call: Exclude<Call, { verb: 'advance' }>,
  read: (id: ElicitationId) => Promise<Elicitation>,
  approve: (call: Extract<Call, { verb: 'approve' }>) => Approval,
): Promise<Answer> {
  const of = (answer: Elicitation) => ({ outcome: answer.status, answer });
  const begun = (id: ElicitationId, name: string) => {
    const { record, ttlMs } = oneTime(id, name);
    return { record: { ...record, sealed: SEALED }, ttlMs };
  };
  switch (call.verb) {
    case 'issue':
      return issue(service, call);
    case 'read':
      return of(await service.read(server(call.mcpServerId), call.id));
    case 'cancel':
      return of(await service.cancel(server(call.mcpServerId), call.id));
    case 'redeem': {
      const redeemed = await service.redeem(server(call.mcpServerId), call.id, call.redemption);
      const isTyped = ['form', 'credential'].includes(redeemed.elicitation.request.kind);
      expect(redeemed.sealed).toBe(isTyped ? SEALED : undefined);
      return { outcome: 'redeemed', answer: redeemed };
    }
    case 'open':
      return of(await open(service, call.id, visitorOf(call.visitor)));
    case 'decline':
      return of(await service.decline(call.id, visitorOf(call.visitor)));
    case 'accept': {
      const transaction = begun(call.id, call.begins);
      return of(await service.accept(call.id, visitorOf(call.visitor), transaction, call.agreedScopes));
    }
    case 'approve': {
      const shown = call.isShown ? digestIn(await read(call.id)) : 'forged';
      return of(await service.approve(call.id, visitorOf(call.visitor), { shown, approval: approve(call) }));
    }
    case 'beginCheck': {
      const { record } = oneTime(call.id, call.begins);
      return of(await service.beginCheck(call.id, visitorOf(call.visitor), record.digest));
    }
    case 'submit': {
      const elicitation = await read(call.id);
      const { request } = elicitation;
      const isLasting = request.kind === 'credential' && request.retention === 'lasting';
      const typed = isLasting
        ? { credential: credentialFor(elicitation, { sealedValues: SEALED }) }
        : { sealed: SEALED };
      const attempt = call.attempt === undefined ? {} : { attempt: call.attempt };
      const submission = { shown: call.isShown ? digestIn(elicitation) : 'forged', ...attempt, ...typed };
      return of(await service.submit(call.id, visitorOf(call.visitor), submission));
    }
    case 'hold':
      return of(await service.hold(call.id, call.attempt, begun(call.id, call.begins)));
    case 'retry':
      return of(await service.retry(call.id, call.attempt, 'provider_denied'));
    case 'fail':
      return of(await service.fail(call.id, call.attempt, 'provider_refused'));
    case 'complete': {
      const asked = await read(call.connectionOf);
      const request = { kind: 'authorization', provider: 'github', scopes: scopesOf(asked) } as const;
      const connection = connectionFor({ ...asked, request }, { sealedTokens: SEALED });
      return of(await service.complete(call.id, call.attempt, connection));
    }
    case 'recordCharge': {
      const charge = { reference: call.reference, url: `https://pay.example.com/${call.reference}` };
      return of(await service.recordCharge(call.id, call.attempt, charge));
    }
    case 'settle':
      return of(await service.settle(call.id, call.attempt, call.settlement));
    case 'expire':
      return of(await service.expire(call.id));
  }
}

async function issue(service: ElicitationService, call: Extract<Call, { verb: 'issue' }>): Promise<Answer> {
  const { mcpServerId, person, what, scopes } = call;
  const subject = { issuer: ISSUER, subject: person };
  const request: RequestInput = what === 'authorization' ? { kind: what, provider: 'github', scopes } : requests[what];
  const issued = await service.issue(server(mcpServerId), { subject, request, ttlMs: TTL_MS });
  switch (issued.disposition) {
    case 'existing_connection':
      expect(issued.connection).toMatchObject({ owner: mcpServerId, subject });
      break;
    case 'existing_credential':
      expect(issued.credential).toMatchObject({ owner: mcpServerId, subject });
      break;
    case 'replayed':
      throw new Error('No call has an idempotency key.');
    default:
      expect(issued.elicitation).toMatchObject({ mcpServerId, subject });
      // The elicitation asks for every scope that the waiter needs.
      if (what === 'authorization') expect(scopesOf(issued.elicitation)).toEqual(expect.arrayContaining([...scopes]));
      else expect(issued.elicitation.request).toEqual(request);
  }
  return { outcome: issued.disposition, answer: issued };
}

const digestIn = ({ request }: Elicitation) => ('digest' in request ? request.digest : 'there is none');
