/** The revisions of MCP that have URL mode. */
export const revisions = ['2025-11-25', '2026-07-28'] as const;
export type Revision = (typeof revisions)[number];
