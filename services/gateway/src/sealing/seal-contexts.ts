import type { Connection, Credential, Elicitation, OneTimeRecord } from '@postern/elicitation';
import type { SealContext } from '@postern/vault';

// Additional authenticated data of each sealed value. Sealing and opening both use these functions, so they cannot differ.

/** An OAuth transaction, between the start and the callback. */
export const transactionContext = (record: TransactionKey): SealContext =>
  ofTransaction('authorization-transaction', record);

/** An authorization code that waits for the application to verify the user. */
export const verificationContext = (record: TransactionKey): SealContext => ofTransaction('verification', record);

/** A device authorization, between the start and the last poll. */
export const deviceContext = (record: TransactionKey): SealContext => ofTransaction('device-transaction', record);

type TransactionKey = Pick<OneTimeRecord, 'digest' | 'elicitationId'>;
const ofTransaction = (purpose: string, { digest, elicitationId }: TransactionKey): SealContext => ({
  purpose,
  digest,
  elicitation: elicitationId,
});

/** The token set of a connection. */
export function connectionContext(
  p: Pick<Connection, 'owner' | 'subject' | 'elicitationId' | 'provider' | 'resource'>,
): SealContext {
  return {
    purpose: 'connection',
    kind: 'authorization',
    mcpServer: p.owner,
    elicitation: p.elicitationId,
    issuer: p.subject.issuer,
    subject: p.subject.subject,
    provider: p.provider,
    // An absent member and an undefined one are two contexts.
    ...(p.resource === undefined ? undefined : { resource: p.resource }),
  };
}

/** The submitted values of a form or credential, until the MCP server redeems them. */
export function resultContext({
  elicitationId,
  mcpServerId,
  subject,
  request,
}: Pick<Elicitation, 'elicitationId' | 'mcpServerId' | 'subject'> & {
  readonly request: Pick<Elicitation['request'], 'kind'>;
}): SealContext {
  return {
    purpose: 'result',
    kind: request.kind,
    mcpServer: mcpServerId,
    elicitation: elicitationId,
    issuer: subject.issuer,
    subject: subject.subject,
  };
}

/** The values of a stored credential. */
export function credentialContext({
  owner,
  subject,
  name,
  elicitationId,
}: Pick<Credential, 'owner' | 'subject' | 'name' | 'elicitationId'>): SealContext {
  return {
    purpose: 'credential',
    kind: 'credential',
    mcpServer: owner,
    elicitation: elicitationId,
    issuer: subject.issuer,
    subject: subject.subject,
    name,
  };
}

/** The digest of an API key in the store. */
export const apiKeyContext = (p: { readonly id: string; readonly mcpServerId: string }): SealContext => ({
  purpose: 'api-key',
  mcpServer: p.mcpServerId,
  apiKey: p.id,
});

/** The registration of this gateway as a client of a provider. */
export const registrationContext = (key: string): SealContext => ({
  purpose: 'client-registration',
  registration: key,
});

/**
 * Purposes of values that are stored for longer than one transaction. Only these are sealed by a key service: everything else is under
 * way for minutes, and strangers can cause it.
 */
export const lastingPurposes: ReadonlySet<string> = new Set([
  'connection',
  'result',
  'credential',
  'client-registration',
  'api-key',
]);
