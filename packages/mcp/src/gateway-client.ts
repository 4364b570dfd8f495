import { randomUUID } from 'node:crypto';
import {
  type AccessTokenBody,
  type AccessTokenRequest,
  accessTokenSchema,
  type ConnectionListBody,
  type CredentialListBody,
  type CredentialValuesBody,
  connectionListSchema,
  credentialListSchema,
  credentialValuesSchema,
  type ElicitationBody,
  elicitationSchema,
  type IssueElicitationInput,
  MAX_WAIT_SECONDS,
  type ReadCredentialRequest,
  type RedeemedElicitationBody,
  type RedeemRequest,
  type RefundBody,
  type RefundRequestBody,
  redeemedElicitationSchema,
  refundSchema,
  removedCredentialSchema,
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

/** Users open the URL, so it must be http or https. */
const webElicitationSchema = elicitationSchema.refine(body => /^https?:\/\//i.test(body.url));

/** Maximum time that the gateway waits for a token refresh. */
const RENEWAL_MS = 30_000;
/** Maximum time that the gateway waits for a payment processor. */
const PROCESSOR_MS = 30_000;
export function createGatewayClient(options: GatewayRequestOptions): GatewayClient {
  const send = createGatewayRequest(options);
  return {
    issue: (body, signal) =>
      send({
        method: 'POST',
        path: '/v1/elicitations',
        schema: webElicitationSchema,
        body,
        // One key for all attempts, so that a lost response does not create a second elicitation.
        headers: { 'idempotency-key': randomUUID() },
        signal,
      }),

    read(elicitationId, waitSeconds, signal) {
      const wait = Math.max(0, Math.min(MAX_WAIT_SECONDS, Math.floor(waitSeconds)));
      return send({
        method: 'GET',
        path: `/v1/elicitations/${encodeURIComponent(elicitationId)}${wait > 0 ? `?wait=${wait}` : ''}`,
        schema: webElicitationSchema,
        extraMs: wait * 1000,
        // `WaitingReads` then reads the status without waiting.
        ...(wait > 0 && { final: ['overloaded', 'too_many_concurrent_requests'] }),
        signal,
      });
    },

    cancel: (elicitationId, signal) =>
      send({
        method: 'POST',
        path: `/v1/elicitations/${encodeURIComponent(elicitationId)}/cancel`,
        schema: webElicitationSchema,
        signal,
      }),

    accessToken: (connectionId, request, signal) =>
      send({
        method: 'POST',
        path: `/v1/connections/${encodeURIComponent(connectionId)}/access-token`,
        schema: accessTokenSchema,
        body: request,
        extraMs: RENEWAL_MS,
        // The gateway has already waited for the provider.
        final: ['upstream_unavailable'],
        signal,
      }),

    connections: ({ issuer, subject }, provider, signal) =>
      send({
        method: 'GET',
        path: `/v1/connections?${new URLSearchParams({ issuer, subject, provider })}`,
        schema: connectionListSchema,
        signal,
      }),

    redeem: (elicitationId, redemption, request, signal) =>
      send({
        method: 'POST',
        path: `/v1/elicitations/${encodeURIComponent(elicitationId)}/redeem`,
        schema: redeemedElicitationSchema,
        body: request,
        headers: { 'idempotency-key': redemption },
        signal,
      }),

    credentials: ({ issuer, subject }, name, signal) =>
      send({
        method: 'GET',
        path: `/v1/credentials?${new URLSearchParams({ issuer, subject, name })}`,
        schema: credentialListSchema,
        signal,
      }),

    readCredential: (credentialId, request, signal) =>
      send({
        method: 'POST',
        path: `/v1/credentials/${encodeURIComponent(credentialId)}/values`,
        schema: credentialValuesSchema,
        body: request,
        signal,
      }),

    refund: (elicitationId, key, request, signal) =>
      send({
        method: 'POST',
        path: `/v1/payments/${encodeURIComponent(elicitationId)}/refunds`,
        schema: refundSchema,
        body: request,
        headers: { 'idempotency-key': key },
        extraMs: PROCESSOR_MS,
        signal,
      }),

    async removeCredential(credentialId, signal) {
      await send({
        method: 'DELETE',
        path: `/v1/credentials/${encodeURIComponent(credentialId)}`,
        schema: removedCredentialSchema,
        signal,
      });
    },
  };
}
