import { randomUUID } from 'node:crypto';
import {
  type AccessTokenBody,
  type AccessTokenRequest,
  type ConnectionListBody,
  type CredentialListBody,
  type CredentialValuesBody,
  type ElicitationBody,
  elicitationSchema,
  type IssueElicitationInput,
  MAX_WAIT_SECONDS,
  operations,
  type ReadCredentialRequest,
  type RedeemedElicitationBody,
  type RedeemRequest,
  type RefundBody,
  type RefundRequestBody,
  requestOf,
  terminalStatuses,
} from '@postern/api';
import { createGatewayRequest, type GatewayRequestOptions } from './gateway-request.ts';
import type { Subject } from './subject.ts';

/** The calls of `/v1` that an MCP server needs. Every method throws {@link GatewayError}, or the signal's reason. */
export interface GatewayClient {
  issue(body: IssueElicitationInput, signal?: AbortSignal): Promise<ElicitationBody>;
  /** @param waitSeconds 0–55; the response comes when the status is terminal or after this wait */
  read(elicitationId: string, waitSeconds: number, signal?: AbortSignal): Promise<ElicitationBody>;
  cancel(elicitationId: string, signal?: AbortSignal): Promise<ElicitationBody>;
  accessToken(connectionId: string, request: AccessTokenRequest, signal?: AbortSignal): Promise<AccessTokenBody>;
  connections(subject: Subject, provider: string, signal?: AbortSignal): Promise<ConnectionListBody>;
  /**
   * Takes the result of a completed elicitation.
   *
   * @param redemption returns the same result again if repeated; a different one is refused with `already_redeemed`
   */
  redeem(
    elicitationId: string,
    redemption: string,
    request: RedeemRequest,
    signal?: AbortSignal,
  ): Promise<RedeemedElicitationBody>;
  credentials(subject: Subject, name: string, signal?: AbortSignal): Promise<CredentialListBody>;
  readCredential(
    credentialId: string,
    request: ReadCredentialRequest,
    signal?: AbortSignal,
  ): Promise<CredentialValuesBody>;
  removeCredential(credentialId: string, signal?: AbortSignal): Promise<void>;
  /** @param key names the refund: a repeat under the same key is the same refund */
  refund(elicitationId: string, key: string, request: RefundRequestBody, signal?: AbortSignal): Promise<RefundBody>;
}

const terminal: ReadonlySet<string> = new Set(terminalStatuses);

/** Whether the stored status is final. */
export const isTerminal = ({ status }: ElicitationBody): boolean => terminal.has(status);

/** Whether the user has opened a payment, so that it may be paid at any moment. */
export const isPaymentUnderWay = (elicitation: ElicitationBody): boolean =>
  elicitation.kind === 'payment' && elicitation.status !== 'pending' && !isTerminal(elicitation);

/** Whether a payment with this status is paid, or may be at any moment. */
export const mayBePaid = (status: ElicitationBody['status'] | undefined): boolean =>
  status === 'active' || status === 'verifying' || status === 'completed';

/** Users open the URL, so it must be http or https. */
const webElicitationSchema = elicitationSchema.refine(body => /^https?:\/\//i.test(body.url));

/** Maximum time that the gateway waits for a token refresh. */
const RENEWAL_MS = 30_000;
/** Maximum time that the gateway waits for a payment processor. */
const PROCESSOR_MS = 30_000;

export function createGatewayClient(options: GatewayRequestOptions): GatewayClient {
  const send = createGatewayRequest(options);
  const openable = { schema: webElicitationSchema };
  return {
    issue(body, signal) {
      // One key for all attempts, so that a lost response does not create a second elicitation.
      const idempotencyKey = randomUUID();
      return send({ ...requestOf(operations.issueElicitation, { body, idempotencyKey }), ...openable, signal });
    },

    read(elicitationId, waitSeconds, signal) {
      const wait = Math.max(0, Math.min(MAX_WAIT_SECONDS, Math.floor(waitSeconds)));
      const query = wait > 0 ? { wait } : {};
      // After a refused wait, `WaitingReads` reads the status without waiting.
      const final = wait > 0 ? (['overloaded', 'too_many_concurrent_requests'] as const) : [];
      const request = requestOf(operations.readElicitation, { parameters: { elicitationId }, query });
      return send({ ...request, ...openable, extraMs: wait * 1000, final, signal });
    },

    cancel: (elicitationId, signal) =>
      send({ ...requestOf(operations.cancelElicitation, { parameters: { elicitationId } }), ...openable, signal }),

    accessToken: (connectionId, body, signal) =>
      send({
        ...requestOf(operations.getAccessToken, { parameters: { connectionId }, body }),
        extraMs: RENEWAL_MS,
        signal,
        // The gateway has already waited for the provider.
        final: ['upstream_unavailable'],
      }),

    connections: ({ issuer, subject }, provider, signal) =>
      send({ ...requestOf(operations.listConnections, { query: { issuer, subject, provider } }), signal }),

    redeem(elicitationId, idempotencyKey, body, signal) {
      const input = { parameters: { elicitationId }, body, idempotencyKey };
      return send({ ...requestOf(operations.redeemElicitation, input), signal });
    },

    credentials: ({ issuer, subject }, name, signal) =>
      send({ ...requestOf(operations.listCredentials, { query: { issuer, subject, name } }), signal }),

    readCredential: (credentialId, body, signal) =>
      send({ ...requestOf(operations.readCredential, { parameters: { credentialId }, body }), signal }),

    refund(elicitationId, idempotencyKey, body, signal) {
      const input = { parameters: { elicitationId }, body, idempotencyKey };
      return send({ ...requestOf(operations.refundPayment, input), extraMs: PROCESSOR_MS, signal });
    },

    async removeCredential(credentialId, signal) {
      await send({ ...requestOf(operations.removeCredential, { parameters: { credentialId } }), signal });
    },
  };
}
