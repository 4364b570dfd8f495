import type { Credential, Elicitation } from '@postern/elicitation';
import type { SealContext } from '@postern/vault';

/** What a sealed answer belongs to, until it is redeemed. Sealing and opening both come through here, so they cannot differ. */
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

/** What the sealed values of a lasting credential belong to. */
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
