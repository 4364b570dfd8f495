import {
  credentialIdOf,
  digestOf,
  type Elicitation,
  type ElicitationOf,
  type ElicitationService,
  type Entropy,
  isShownBy,
  newOperationId,
  type Visitor,
} from '@postern/elicitation';
import type { RedisStores } from '@postern/store-redis';
import type { Vault } from '@postern/vault';
import type { Events } from '../events.ts';
import { ProblemError } from '../http/problem-error.ts';
import { checkOf, ownerOf, type RegisteredMcpServer } from '../registered-mcp-server.ts';
import type { CredentialCheck } from './credential-check.ts';
import type { CredentialValues } from './credential-entry.ts';
import { credentialContext, resultContext } from './result-context.ts';
import { unlessOvertaken } from './unless-overtaken.ts';

/**
 * So often does a person have one credential of an MCP server checked within this time, over all its elicitations and all replicas. Who
 * mistypes needs fewer; who guesses somebody else's password at the API behind needs more.
 */
const CHECKS = 10;
const CHECKS_WITHIN_MS = 10 * 60_000;

export interface Submitter {
  readonly visitor: Visitor;
  /** Digest of what the page has asked for. */
  readonly shown: string;
}

/** What a person typed: sealed at once, and stored in the same commit that completes the elicitation. */
export function createSubmissionFlow(p: {
  service: ElicitationService;
  stores: Pick<RedisStores, 'oneTime'>;
  vault: Vault;
  credentialCheck: CredentialCheck;
  mcpServers: ReadonlyMap<string, RegisteredMcpServer>;
  events: Events;
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
     * Checked where the operator says how, before it is accepted. A check that turns it down, or cannot be made, brings the person back.
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
      // A digest that is not the stored one is refused before anybody outside is asked.
      if (check === undefined || !isOpen || !isShownBy(submitter.shown, request))
        return store(elicitation, submitter, values);
      await takeCheck(elicitation);
      const attempt = digestOf(newOperationId(p.entropy));
      await service.beginCheck(elicitationId, submitter.visitor, attempt);
      const checked = await p.credentialCheck(check, values, `${mcpServerId}.${request.name}`);
      p.events.credentialChecked(elicitation, checked);
      if (checked === 'accepted') return store(elicitation, { ...submitter, attempt }, values);
      const trouble = checked === 'rejected' ? 'credential_rejected' : 'check_unavailable';
      await unlessOvertaken(service.retry(elicitationId, attempt, trouble));
      return (await service.find(elicitationId)) ?? elicitation;
    },
  };
}

export type SubmissionFlow = ReturnType<typeof createSubmissionFlow>;
