import { type Audit, about } from './audit.ts';
import type { CompletedElicitation } from './elicitation.ts';
import { DomainError, NotFoundError } from './errors.ts';
import { digestOf, type ElicitationId } from './ids.ts';
import type { McpServer } from './mcp-server.ts';
import type { ElicitationStore } from './ports.ts';

export interface RedemptionDeps {
  readonly elicitations: ElicitationStore;
  readonly audit: Audit;
}

export interface Redeemed {
  readonly elicitation: CompletedElicitation;
  /** What the person typed, sealed by the vault; absent for approvals. */
  readonly sealed?: string;
  /** False for a repeat. */
  readonly isFirst: boolean;
}

/** The MCP server takes the result of what it asked, under one name. */
export function createRedemption({ elicitations, audit }: RedemptionDeps) {
  /**
   * @param redemption the MCP server's own name for this, of any form; the same again gets the same.
   * @throws NotFoundError for unknown ids and for those of another MCP server, alike; DomainError `not_redeemable` (not completed,
   * or of a kind without a result), `already_redeemed` (under another name)
   */
  async function redeem(
    mcpServer: Pick<McpServer, 'mcpServerId'>,
    elicitationId: ElicitationId,
    redemption: string,
  ): Promise<Redeemed> {
    // Whose it is never changes, so that looking before taking leaves no gap.
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
