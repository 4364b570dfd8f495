import type { Clock, ElicitationService, Entropy, Stores } from '@postern/elicitation';
import type { Vault } from '@postern/vault';
import type { RegisteredMcpServer } from '../mcp-servers/registered-mcp-server.ts';
import type { AuditLog } from '../platform/audit/audit-events.ts';
import type { GatewayConfig } from '../platform/config/config-schema.ts';
import type { OutboundLog } from '../platform/outbound/outbound-log.ts';
import type { UpstreamOf } from '../platform/overload/upstream.ts';
import { createCredentialCheck, isUnavailable } from './credential-check.ts';
import { createCredentialFlow } from './credential-flow.ts';
import { createSubmissionFlow } from './submission-flow.ts';

/** Creates the services of this room: submitting credentials and forms, and reading credentials. */
export function createEntries(p: {
  config: Pick<GatewayConfig, 'vault'>;
  mcpServers: ReadonlyMap<string, RegisteredMcpServer>;
  stores: Stores;
  service: ElicitationService;
  vault: Vault;
  auditLog: AuditLog;
  upstreamOf: UpstreamOf;
  outboundLog: OutboundLog;
  now: Clock;
  entropy: Entropy;
}) {
  return {
    credentialFlow: createCredentialFlow(p),
    submissionFlow: createSubmissionFlow({
      ...p,
      credentialCheck(check, values, name) {
        const { fetch, ask } = p.upstreamOf('credential_check', name);
        const send = () => createCredentialCheck({ fetch })(check, values);
        return ask(
          () => p.outboundLog.run({ target: 'credential_check', name }, send, isUnavailable),
          () => 'unavailable',
        );
      },
    }),
  };
}

export type Entries = ReturnType<typeof createEntries>;
