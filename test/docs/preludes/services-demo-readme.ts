/** What the example of services/demo/README.md takes for granted. */
import type { GatedContext } from '@postern/mcp';

export declare const ctx: GatedContext;
export declare const url: string;
