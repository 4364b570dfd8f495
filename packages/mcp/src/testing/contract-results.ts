import type { IssueElicitation, OutcomeBody, ProblemCode, RedeemedElicitationBody } from '@postern/api';
import type { JWK } from 'jose';
import { digestOf, signedTerms } from '../receipt/claims.ts';
import { seal } from './contract-sealing.ts';
import { sampleContent } from './sample-content.ts';

/** Prefix of every secret that a user types. It must not appear in an MCP frame, an error or a log. */
export const TYPED_SECRET = 'canary-typed-secret';

/** The typed values: values of a credential, content of a form. */
export type Typed = Readonly<Record<string, string | number | boolean | readonly string[]>>;

interface StoredResult {
  readonly request: IssueElicitation;
  readonly typed: Typed;
  redemption: string | undefined;
  redeemedAt: string | undefined;
}

/** Whether its completion leaves a result that is redeemed once. */
export function needsRedemption(request: IssueElicitation): boolean {
  return (
    request.kind !== 'authorization' && !(request.kind === 'credential' && request.credential.retention === 'lasting')
  );
}

/** Results of completed elicitations. The first `Idempotency-Key` gets a result, and its repeats get it again. */
export class ContractResults {
  readonly #stored = new Map<string, StoredResult>();
  /** Idempotency keys of the answered redemptions, in order, with the elicitation. */
  readonly redemptions: { readonly elicitationId: string; readonly key: string }[] = [];
  /** The public key registered for the MCP server. */
  encryptionKey: () => JWK | undefined = () => undefined;
  /** Number of responses to lose after their effect. */
  loses = 0;
  /** Changes a response on its way, like a proxy between gateway and MCP server. */
  tamper: (answer: RedeemedElicitationBody) => RedeemedElicitationBody = answer => answer;

  add(elicitationId: string, request: IssueElicitation, typed: Typed): void {
    this.#stored.set(elicitationId, { request, typed, redemption: undefined, redeemedAt: undefined });
  }

  redeemedAt(elicitationId: string): string | undefined {
    return this.#stored.get(elicitationId)?.redeemedAt;
  }

  async redeem(
    elicitationId: string,
    key: string,
    isSealed: boolean,
    now: string,
  ): Promise<RedeemedElicitationBody | ProblemCode> {
    const stored = this.#stored.get(elicitationId);
    if (stored === undefined) return 'not_redeemable';
    if (isSealed && this.encryptionKey() === undefined) return 'encryption_key_not_registered';
    if (stored.redemption !== undefined && stored.redemption !== key) return 'already_redeemed';
    stored.redemption = key;
    stored.redeemedAt ??= now;
    this.redemptions.push({ elicitationId, key });
    return this.tamper(await this.#body(elicitationId, stored, stored.redeemedAt, isSealed));
  }

  async #body(
    elicitationId: string,
    { request, typed }: StoredResult,
    redeemedAt: string,
    isSealed: boolean,
  ): Promise<RedeemedElicitationBody> {
    const facts = { elicitationId, redeemedAt };
    const { kind } = request;
    if (kind === 'authorization') throw new Error('nothing to redeem');
    if (kind === 'payment' || kind === 'confirmation')
      return { ...facts, kind, receipt: `receipt-of-${elicitationId}` };
    const typ = 'postern-result+jwe';
    const sealed = isSealed
      ? { sealedResult: await seal(JSON.stringify(typed), this.encryptionKey(), { typ, elicitationId }) }
      : undefined;
    if (kind === 'form') return { ...facts, kind, ...(sealed ?? { content: mutable(typed) }) };
    const values = Object.fromEntries(Object.entries(typed).map(([name, value]) => [name, `${value}`]));
    return { ...facts, kind, ...(sealed ?? { values }) };
  }
}

const mutable = (typed: Typed) =>
  Object.fromEntries(
    Object.entries(typed).map(([name, value]) => [name, typeof value === 'object' ? [...value] : value]),
  );

/** Typical input of a user for this request. */
export function typedFor(request: IssueElicitation): Typed {
  if (request.kind === 'credential')
    return Object.fromEntries(request.credential.fields.map(({ name }) => [name, `${TYPED_SECRET}-${name}`]));
  return request.kind === 'form' ? sampleContent(request.form.requestedSchema) : {};
}

/** The outcome of approving, or of answering a form. */
export function outcomeFor(request: IssueElicitation, at: string): OutcomeBody {
  const approval = { method: 'button' as const, identity: 'login' as const, at, authTime: at };
  switch (request.kind) {
    case 'payment': {
      const { processor = 'none', ...terms } = request.payment;
      return {
        kind: 'payment',
        digest: digestOf('payment', terms),
        approval,
        processor,
        ...(processor === 'none' ? {} : { processorReference: 'pi_1' }),
      };
    }
    case 'confirmation':
      return { kind: 'confirmation', digest: digestOf('confirmation', signedTerms(request.confirmation)), approval };
    case 'credential':
      return { kind: 'credential', name: request.credential.name };
    case 'form':
      return { kind: 'form' };
    case 'authorization':
      throw new Error('an authorization makes a connection');
  }
}
