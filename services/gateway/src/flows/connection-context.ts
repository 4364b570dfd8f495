import type { Connection } from '@postern/elicitation';
import type { SealContext } from '@postern/vault';

/** What a sealed token set belongs to. Sealing and opening both come through here, so they cannot differ. */
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
    ...(p.resource === undefined ? {} : { resource: p.resource }),
  };
}
