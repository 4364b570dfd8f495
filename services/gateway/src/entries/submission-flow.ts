import {
  credentialIdOf,
  digestOf,
  type Elicitation,
  type ElicitationOf,
  type ElicitationService,
  type Entropy,
  ignoreSuperseded,
  isShownBy,
  newOperationId,
  type Stores,
  type Visitor,
} from '@postern/elicitation';
import type { Vault } from '@postern/vault';
import { checkOf, ownerOf, type RegisteredMcpServer } from '../mcp-servers/registered-mcp-server.ts';
import type { AuditLog } from '../platform/audit/audit-events.ts';
import { ProblemError } from '../platform/http/problems.ts';
import { credentialContext, resultContext } from '../sealing/seal-contexts.ts';
import type { CredentialCheck } from './credential-check.ts';
import type { CredentialValues } from './credential-entry.ts';

/**
 * Maximum checks per user and credential name of an MCP server within this time, over all elicitations and replicas. Enough for typos,
 * too few to guess a foreign password at the API.
 */
export const CHECKS = 10;
export const CHECKS_WITHIN_MS = 10 * 60_000;

export interface Submitter {
  readonly visitor: Visitor;
  /** Digest of the request that the page showed. */
  readonly shown: string;
}

/** Seals the typed values and stores them in the commit that completes the elicitation. */
export function createSubmissionFlow(p: {
  service: ElicitationService;
  stores: Pick<Stores, 'oneTime'>;
  vault: Vault;
  credentialCheck: CredentialCheck;
  mcpServers: ReadonlyMap<string, RegisteredMcpServer>;
  auditLog: AuditLog;
  entropy: Entropy;
}) {
  const { service, vault } = p;

  async function store(
    elicitation: ElicitationOf<'credential'>,
    submitter: Submitter & { readonly attempt?: string },
    values: CredentialValues,
  ): Promise<Elicitation> {
    const { visitor, ...shown } = submitter;
    const { elicitationId, subject, mcpServerId, request } = elicitation;
    if (request.retention === 'once') {
      const sealed = await vault.seal(JSON.stringify(values), resultContext(elicitation));
      return service.submit(elicitationId, visitor, { ...shown, sealed });
    }
    const place = { owner: ownerOf(p.mcpServers, mcpServerId), subject, name: request.name, elicitationId };
    return service.submit(elicitationId, visitor, {
      ...shown,
      credential: {
        ...place,
        credentialId: credentialIdOf(place),
        title: request.title,
        fields: request.fields.map(field => field.name),
        sealedValues: await vault.seal(JSON.stringify(values), credentialContext(place)),
      },
    });
  }

  /** @throws ProblemError `rate_limited` */
  async function takeCheck({ mcpServerId, subject, request }: ElicitationOf<'credential'>): Promise<void> {
    for (let n = 0; n < CHECKS; n += 1) {
      const name = ['credential check', mcpServerId, subject.issuer, subject.subject, request.name, n];
      if (await p.stores.oneTime.claim(digestOf(JSON.stringify(name)), CHECKS_WITHIN_MS)) return;
    }
    throw new ProblemError('rate_limited', { retryAfterMs: CHECKS_WITHIN_MS });
  }

  return {
    async form(
      elicitation: ElicitationOf<'form'>,
      { visitor, shown }: Submitter,
      content: Readonly<Record<string, unknown>>,
    ): Promise<Elicitation> {
      service.assertSamePerson(elicitation, visitor);
      const sealed = await vault.seal(JSON.stringify(content), resultContext(elicitation));
      return service.submit(elicitation.elicitationId, visitor, { shown, sealed });
    },

    /**
     * Checks the credential first if a check is configured. If the check rejects it or is unavailable, the elicitation returns
     * to the user.
     * @throws ProblemError `rate_limited` after too many checks
     */
    async credential(
      elicitation: ElicitationOf<'credential'>,
      submitter: Submitter,
      values: CredentialValues,
    ): Promise<Elicitation> {
      const { elicitationId, mcpServerId, request } = elicitation;
      service.assertSamePerson(elicitation, submitter.visitor);
      const check = checkOf(p.mcpServers.get(mcpServerId), request.name);
      const isOpen = elicitation.status === 'pending' || elicitation.status === 'active';
      // `store` refuses a digest that differs from the stored one; no check is sent for it.
      if (check === undefined || !isOpen || !isShownBy(submitter.shown, request))
        return store(elicitation, submitter, values);
      await takeCheck(elicitation);
      const attempt = digestOf(newOperationId(p.entropy));
      await service.beginCheck(elicitationId, submitter.visitor, attempt);
      const checked = await p.credentialCheck(check, values, `${mcpServerId}.${request.name}`);
      p.auditLog.record('credential.checked', { ...elicitation, result: checked });
      if (checked === 'accepted') return store(elicitation, { ...submitter, attempt }, values);
      const reason = checked === 'rejected' ? 'credential_rejected' : 'check_unavailable';
      await ignoreSuperseded(service.retry(elicitationId, attempt, reason));
      return (await service.find(elicitationId)) ?? elicitation;
    },
  };
}

export type SubmissionFlow = ReturnType<typeof createSubmissionFlow>;
