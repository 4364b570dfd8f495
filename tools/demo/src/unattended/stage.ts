import type { Browser } from 'playwright-core';
import type { Capability } from '../capabilities.ts';
import type { Constellation } from '../constellation.ts';
import type { FrameLog } from '../frame-log.ts';
import type { Actor, Role } from './actor.ts';
import type { GatewayLog } from './gateway-log.ts';
import type { Report } from './report.ts';

export const ALICE: Role = { id: 'alice', name: 'Alice', forgeAccount: 'alice-codes' };
export const BOB: Role = { id: 'bob', name: 'Bob', forgeAccount: 'bob-builds' };

/** Shared by all chapters of the story. */
export interface Stage {
  readonly report: Report;
  readonly world: Constellation;
  readonly chromium: Browser;
  readonly frames: FrameLog;
  readonly log: GatewayLog;
  /** Secrets that users typed into Postern's pages. They must not appear anywhere else. */
  readonly typed: Set<string>;
}

/** A part of the story. */
export interface Chapter {
  readonly title: string;
  readonly tell: (stage: Stage, cast: Cast) => Promise<void>;
  /** Set if some gateways cannot show the chapter: what it needs, and how many steps are left out without it. */
  readonly needs?: { readonly capability: Capability; readonly steps: number };
}

/** Both people, connected: Alice's host speaks revision 2026-07-28, Bob's 2025-11-25. */
export interface Cast {
  readonly alice: Actor;
  readonly bob: Actor;
}
