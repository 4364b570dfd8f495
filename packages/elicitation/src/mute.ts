import type { Subject } from './ids.ts';

/** A user lets an MCP server ask nothing more. Neither other MCP servers of its group nor its connections are affected. */
export interface Mute {
  readonly mcpServerId: string;
  /** Epoch milliseconds. */
  readonly mutedAt: number;
}

/** Kept until the user undoes it. `ElicitationStore.create` checks it in the commit that would create an elicitation. */
export interface MuteStore {
  /** Oldest first. */
  list(subject: Subject): Promise<readonly Mute[]>;
  /** @returns false if it was muted already. A repeat after a lost response also returns false. */
  mute(subject: Subject, mcpServerId: string): Promise<boolean>;
  /** @returns false if it was not muted. A repeat after a lost response also returns false. */
  unmute(subject: Subject, mcpServerId: string): Promise<boolean>;
  /** Undoes every mute. */
  clear(subject: Subject): Promise<void>;
}
