/** Predefined names for the examples of tools/demo/README.md. */
import type { GatedContext } from '@postern/mcp';

export declare const ctx: GatedContext;
export declare const url: string;
