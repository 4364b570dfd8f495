import {
  type ElicitationBody,
  type IssueElicitationInput,
  issueElicitationSchema,
  type OutcomeBody,
  type RedeemedElicitationBody,
  type RefundBody,
  type RefundRequestBody,
} from '@postern/api';
import type { z } from 'zod/v4';
import { GatewayError, PosternUsageError, parseStrictly } from '../errors.ts';
import type { GatewayClient } from '../gateway/client.ts';
import { digestOf, signedTerms } from '../receipt/claims.ts';
import { type Asked, answerSchemas, type Outcome, type TestScript } from './script.ts';

const LIFETIME_MS = 600_000;

interface Connection {
  readonly provider: string;
  readonly token: string;
  readonly scopes: readonly string[];
}

interface Kept {
  readonly credentialId: string;
  readonly name: string;
  readonly fields: string[];
  readonly generation: number;
  readonly values: Record<string, string>;
}

interface Open {
  readonly elicitation: ElicitationBody;
  readonly request: Asked;
  readonly outcome: Outcome<object>;
}

/** The gateway of a test gate, in memory. Its user answers between two runs of a handler, by the script. */
export class ScriptedClient implements GatewayClient {
  readonly asks: Asked[] = [];
  readonly #script: TestScript;
  readonly #elicitations = new Map<string, ElicitationBody>();
  readonly #open = new Map<string, Open>();
  readonly #results = new Map<string, (redeemedAt: string) => RedeemedElicitationBody>();
  readonly #redemptions = new Map<string, string>();
  readonly #connections = new Map<string, Connection>();
  readonly #credentials = new Map<string, Kept>();
  readonly #payments = new Map<string, { readonly minorUnits: number; readonly refunds: Map<string, RefundBody> }>();

  constructor(script: TestScript) {
    this.#script = script;
  }

  async issue(input: IssueElicitationInput): Promise<ElicitationBody> {
    const request = issueElicitationSchema.parse(input);
    const elicitationId = `test-${this.#elicitations.size + 1}`;
    const now = Date.now();
    const served = this.#served(request);
    const elicitation: ElicitationBody = {
      elicitationId,
      kind: request.kind,
      status: served === undefined ? 'pending' : 'completed',
      url: `https://gateway.test/e/${elicitationId}`,
      matchCode: 'TE-ST',
      createdAt: new Date(now).toISOString(),
      expiresAt: new Date(now + LIFETIME_MS).toISOString(),
      message: request.message,
      outcome: served,
    };
    if (served === undefined) {
      this.asks.push(request);
      this.#open.set(elicitationId, { elicitation, request, outcome: outcomeFor(this.#script, request) });
    }
    this.#elicitations.set(elicitationId, elicitation);
    return elicitation;
  }

  /** The user answers everything that is open, unless it stays `pending`. Returns whether anything has ended. */
  decide(): boolean {
    let hasEnded = false;
    for (const [elicitationId, { elicitation, request, outcome }] of this.#open) {
      if (outcome.status === 'pending') continue;
      const at = new Date().toISOString();
      this.#open.delete(elicitationId);
      this.#elicitations.set(elicitationId, {
        ...elicitation,
        status: outcome.status,
        endedAt: at,
        ...(outcome.status === 'failed' ? { failure: { code: outcome.code } } : {}),
        ...(outcome.status === 'completed'
          ? { outcome: this.#complete({ elicitationId, at }, request, outcome.answer) }
          : {}),
      });
      hasEnded = true;
    }
    return hasEnded;
  }

  /** The connection or credential of an earlier call that answers the request. */
  #served(request: Asked): OutcomeBody | undefined {
    if (request.kind === 'authorization') {
      const { provider, scopes = [] } = request.authorization;
      const known = [...this.#connections].find(
        ([, one]) => one.provider === provider && scopes.every(scope => one.scopes.includes(scope)),
      );
      if (known === undefined) return undefined;
      const [connectionId, connection] = known;
      return { kind: 'authorization', connectionId, provider, scopes: [...connection.scopes] };
    }
    if (request.kind !== 'credential' || request.credential.retention === 'once') return undefined;
    const { name, rejectedGeneration = 0 } = request.credential;
    const kept = this.#credentials.get(`credential-${name}`);
    if (kept === undefined || kept.generation <= rejectedGeneration) return undefined;
    return { kind: 'credential', name, credentialId: kept.credentialId };
  }

  /** Keeps what the accepted answer leaves behind. */
  #complete(
    facts: { readonly elicitationId: string; readonly at: string },
    request: Asked,
    given: object,
  ): OutcomeBody {
    const { elicitationId, at } = facts;
    const approval = { method: 'button' as const, identity: 'loopback' as const, at };
    const keep = (result: (redeemedAt: string) => RedeemedElicitationBody) => this.#results.set(elicitationId, result);
    switch (request.kind) {
      case 'authorization': {
        const { provider, scopes: asked = [] } = request.authorization;
        const { token, scopes = asked } = answered(answerSchemas.authorization, request, given);
        const connectionId = `connection-${elicitationId}`;
        this.#connections.set(connectionId, { provider, token, scopes });
        return { kind: 'authorization', connectionId, provider, scopes: [...scopes] };
      }
      case 'payment': {
        const { receipt, processor, processorReference, mode } = answered(answerSchemas.payment, request, given);
        const { processor: _, ...terms } = request.payment;
        keep(redeemedAt => ({ elicitationId, redeemedAt, kind: 'payment', receipt }));
        if (processor !== 'none')
          this.#payments.set(elicitationId, { minorUnits: terms.amount.minorUnits, refunds: new Map() });
        return {
          kind: 'payment',
          digest: digestOf('payment', terms),
          approval,
          processor,
          processorReference,
          mode,
        };
      }
      case 'confirmation': {
        const { receipt } = answered(answerSchemas.confirmation, request, given);
        keep(redeemedAt => ({ elicitationId, redeemedAt, kind: 'confirmation', receipt }));
        return { kind: 'confirmation', digest: digestOf('confirmation', signedTerms(request.confirmation)), approval };
      }
      case 'credential': {
        const { name, retention } = request.credential;
        const { values } = answered(answerSchemas.credential, request, given);
        if (retention === 'once') {
          keep(redeemedAt => ({ elicitationId, redeemedAt, kind: 'credential', values }));
          return { kind: 'credential', name };
        }
        const credentialId = `credential-${name}`;
        const generation = (this.#credentials.get(credentialId)?.generation ?? 0) + 1;
        this.#credentials.set(credentialId, { credentialId, name, fields: Object.keys(values), generation, values });
        return { kind: 'credential', name, credentialId };
      }
      case 'form': {
        const { content } = answered(answerSchemas.form, request, given);
        keep(redeemedAt => ({ elicitationId, redeemedAt, kind: 'form', content }));
        return { kind: 'form' };
      }
    }
  }

  async read(elicitationId: string): Promise<ElicitationBody> {
    return found(this.#elicitations.get(elicitationId));
  }

  async cancel(elicitationId: string): Promise<ElicitationBody> {
    const elicitation = found(this.#elicitations.get(elicitationId));
    if (elicitation.status !== 'pending') throw new GatewayError('already_ended', 'The elicitation has ended.');
    const cancelled = { ...elicitation, status: 'cancelled' as const, endedAt: new Date().toISOString() };
    this.#elicitations.set(elicitationId, cancelled);
    this.#open.delete(elicitationId);
    return cancelled;
  }

  async redeem(elicitationId: string, redemption: string): Promise<RedeemedElicitationBody> {
    const result = found(this.#results.get(elicitationId));
    if ((this.#redemptions.get(elicitationId) ?? redemption) !== redemption)
      throw new GatewayError('already_redeemed', 'Another call has redeemed this result.');
    this.#redemptions.set(elicitationId, redemption);
    return result(new Date().toISOString());
  }

  async accessToken(connectionId: string) {
    const { token, scopes } = found(this.#connections.get(connectionId));
    return { accessToken: token, tokenType: 'Bearer', scopes: [...scopes], generation: 1 };
  }

  async connections() {
    return { connections: [] };
  }

  async credentials() {
    return { credentials: [] };
  }

  async readCredential(credentialId: string) {
    return found(this.#credentials.get(credentialId));
  }

  /** Pays back any payment that the script has answered, once per key. */
  async refund(elicitationId: string, key: string, { minorUnits, reason }: RefundRequestBody): Promise<RefundBody> {
    const payment = found(this.#payments.get(elicitationId));
    const known = payment.refunds.get(key);
    if (known !== undefined) return known;
    const left = [...payment.refunds.values()].reduce((sum, made) => sum - made.minorUnits, payment.minorUnits);
    if (left < (minorUnits ?? 1))
      throw new GatewayError(
        'refund_exceeds_payment',
        left === 0 ? 'Everything has been refunded.' : 'The amount is above what can still be paid back.',
      );
    const refund: RefundBody = {
      refundId: `refund-${elicitationId}-${payment.refunds.size + 1}`,
      minorUnits: minorUnits ?? left,
      status: 'succeeded',
      requestedBy: 'mcp_server',
      createdAt: new Date().toISOString(),
      reason,
    };
    payment.refunds.set(key, refund);
    return refund;
  }

  async removeCredential(credentialId: string): Promise<void> {
    this.#credentials.delete(credentialId);
  }
}

/** @throws {PosternUsageError} `invalid_ask` if the script has no outcome for this ask */
function outcomeFor(script: TestScript, request: Asked): Outcome<object> {
  switch (request.kind) {
    case 'authorization': {
      const { provider } = request.authorization;
      return decided(`authorize: { ${provider} }`, script.authorize?.[provider], request.authorization);
    }
    case 'payment':
      return decided('pay', script.pay, request.payment);
    case 'confirmation':
      return decided('confirm', script.confirm, request.confirmation);
    case 'credential': {
      const { name } = request.credential;
      return decided(`credential: { ${name} }`, script.credential?.[name], request.credential);
    }
    case 'form':
      return decided('form', script.form, request.form);
  }
}

function decided<Terms>(
  member: string,
  scripted: Outcome<object> | ((terms: Terms) => Outcome<object>) | undefined,
  terms: Terms,
): Outcome<object> {
  if (scripted === undefined) throw new PosternUsageError('invalid_ask', `testGate: the script has no ${member}.`);
  return typeof scripted === 'function' ? scripted(terms) : scripted;
}

function answered<Answer>(schema: z.ZodType<Answer>, { kind }: Asked, given: object): Answer {
  return parseStrictly('invalid_options', `accept() for a ${kind}`, schema, given);
}

function found<T>(value: T | undefined): T {
  if (value === undefined) throw new GatewayError('not_found', 'The test gate has no such thing.');
  return value;
}
