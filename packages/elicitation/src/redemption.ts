import { type Audit, about, type CompletedElicitation } from './elicitation.ts';
import type { ElicitationStore } from './elicitation-store.ts';
import { DomainError, NotFoundError } from './errors.ts';
import { digestOf, type ElicitationId } from './ids.ts';
import type { McpServer } from './mcp-server.ts';

export interface RedemptionDeps {
  readonly elicitations: ElicitationStore;
  readonly audit: Audit;
}

export interface Redeemed {
  readonly elicitation: CompletedElicitation;
  /** Typed values, sealed by the vault; absent for approvals. */
  readonly sealed?: string;
  /** False for a repeat. */
  readonly isFirst: boolean;
}

/** The MCP server takes the result of its request, under one idempotency key. */
export function createRedemption({ elicitations, audit }: RedemptionDeps) {
  /**
   * @param redemption the MCP server's idempotency key, in any format; the same key gets the same result
   * @throws NotFoundError for unknown ids and, alike, for those of another MCP server; DomainError `not_redeemable` (not
   * completed, or of a kind without a result), `already_redeemed` (under another key)
   */
  async function redeem(
    mcpServer: Pick<McpServer, 'mcpServerId'>,
    elicitationId: ElicitationId,
    redemption: string,
  ): Promise<Redeemed> {
    // The owner never changes, so reading before taking leaves no race.
    const found = await elicitations.read(elicitationId);
    if (found?.mcpServerId !== mcpServer.mcpServerId) throw new NotFoundError();
    const answer = await elicitations.redeem({ elicitationId, redemption: digestOf(redemption) });
    switch (answer.result) {
      case 'redeemed': {
        const { result: _, ...redeemed } = answer;
        if (redeemed.isFirst) audit({ type: 'redeemed', ...about(redeemed.elicitation) }, redeemed.elicitation);
        return redeemed;
      }
      case 'spent':
        throw new DomainError('already_redeemed', 'The result was redeemed under another name.');
      case 'unredeemable':
        throw new DomainError('not_redeemable', 'There is no result to redeem.');
      case 'missing':
        throw new NotFoundError();
    }
  }

  return { redeem };
}
